"""Puts the library of all kernels into the wheel, so that nobody who installs it needs a compiler.

On Linux the wheel is for one platform and all versions of Python from 3.11 on. On other systems, and with
``NEARDUP_NATIVE=0``, the wheel contains no library and is for all platforms, and Numba compiles kernels at their first
call. If the library cannot be built on Linux, the build fails with the reason. docs/development/native.md explains it.

Every wheel also contains the scripts for shell completion, which are generated from the command line.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NUMBA = "numba==0.68.*"
"""``neardup.native.compile`` overrides undocumented parts of Numba, so each new release must be tested first."""
BUILDS_LIBRARY = (
    sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64") and os.environ.get("NEARDUP_NATIVE") != "0"
)


class Kernels(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return the packages that a build on this platform needs. ziglang contains a C compiler and a linker."""
        linker = [] if shutil.which("cc") else ["ziglang>=0.13"]
        return ["click>=8.1", *([NUMBA, *linker] if BUILDS_LIBRARY else [])]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the library, except for an editable install, which runs from the checkout."""
        if version == "editable":
            return
        self._made = Path(mkdtemp(prefix="neardup-build-"))
        self._share(build_data)
        if not BUILDS_LIBRARY:
            return
        # an isolated build finds its libraries by sys.path only, which the interpreter by itself would not have
        places = [str(Path(self.root) / "src"), *filter(None, sys.path)]
        done = subprocess.run(
            [sys.executable, "-m", "neardup.native.build", str(self._made)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise SystemExit(f"the kernels of neardup cannot be compiled: {done.stderr.strip()}")
        library = Path(done.stdout.strip())
        build_data["force_include"][str(library)] = f"neardup/native/{library.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-linux_{platform.machine()}"

    def _share(self, build_data: dict[str, Any]) -> None:
        """Write the files for ``share`` of an installation; this imports click, but no kernels."""
        sys.path.insert(0, str(Path(self.root) / "src"))
        try:
            from neardup.cli import main
            from neardup.cli.completing import write_scripts
        finally:
            del sys.path[0]
        write_scripts(main, self._made)
        build_data["shared_data"][str(self._made / "share")] = "share"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            shutil.rmtree(self._made, ignore_errors=True)
