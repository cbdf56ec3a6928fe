"""Puts machine code of the kernels into the wheel, so that nobody waits for the compiler at first use.

It is made in the environment of the build, for the Python that runs it, the newest numba and any processor of this
architecture; a wheel that has it is for this Python and this platform. Where it cannot be made the wheel has none, is
for every platform, and kernels are compiled when they are needed. ``NEARDUP_KERNELS=0`` asks for that.

Every wheel also has the scripts that make shells complete the command, made from the command line itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Kernels(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; an editable install runs from the checkout, which keeps its machine code itself."""
        if version == "editable":
            return
        self._share(build_data)
        if os.environ.get("NEARDUP_KERNELS") == "0":
            return
        self._made = mkdtemp(prefix="neardup-kernels-")
        # an isolated build finds its libraries by sys.path only, which the interpreter by itself would not have
        places = [str(Path(self.root) / "src"), *filter(None, sys.path)]
        done = subprocess.run(
            [sys.executable, "-m", "neardup.kernels.warm", self._made],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
            self.app.display_warning(f"no machine code in this wheel: {reason}")
            return
        build_data["force_include"][self._made] = "neardup/kernels/compiled"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def _share(self, build_data: dict[str, Any]) -> None:
        """What goes into ``share`` of an installation; it needs click and no library of the kernels."""
        sys.path.insert(0, str(Path(self.root) / "src"))
        try:
            from neardup.cli import main
            from neardup.cli.completing import write_scripts
        finally:
            del sys.path[0]
        self._shared = mkdtemp(prefix="neardup-share-")
        write_scripts(main, Path(self._shared))
        build_data["shared_data"][str(Path(self._shared) / "share")] = "share"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        for made in ("_made", "_shared"):
            shutil.rmtree(getattr(self, made, ""), ignore_errors=True)
