"""A headless Firefox by Marionette, its own protocol, with nothing but the standard library.

Playwright needs a Firefox that it has patched itself, and geckodriver is in few distributions; what Debian has as
``firefox-esr`` speaks Marionette over a socket: a message is its length in decimal digits, a colon, and JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.warm import LIMIT

FIREFOX = shutil.which("firefox") or shutil.which("firefox-esr")
PREFERENCES = {
    "marionette.port": 0,  # any; the one that was taken stands in a file of the profile
    "app.update.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
    "toolkit.telemetry.reportingpolicy.firstRun": False,
}
TAB, ENTER, RIGHT, ESCAPE = "\ue004", "\ue007", "\ue014", "\ue00c"


class Firefox:
    """One window."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=LIMIT)
        self._stream = self._socket.makefile("rwb")
        self._number = 0
        self._receive()  # its greeting
        self.do("WebDriver:NewSession", capabilities={"alwaysMatch": {"acceptInsecureCerts": True}})

    def close(self) -> None:
        """Let the connection go."""
        self._stream.close()
        self._socket.close()

    def _receive(self) -> Any:
        size = b""
        while (byte := self._stream.read(1)) != b":":
            assert byte, "Firefox has ended"
            size += byte
        return json.loads(self._stream.read(int(size)))

    def do(self, command: str, **parameters: Any) -> Any:
        """A command of WebDriver, and its value."""
        self._number += 1
        message = json.dumps([0, self._number, command, parameters]).encode()
        self._stream.write(b"%d:%b" % (len(message), message))
        self._stream.flush()
        _, number, error, value = self._receive()
        assert number == self._number
        assert error is None, f"{command}: {error}"
        return value.get("value") if isinstance(value, dict) and set(value) == {"value"} else value

    def open(self, url: str) -> None:
        self.do("WebDriver:Navigate", url=url)

    def run(self, script: str, *values: Any) -> Any:
        """What a function body gives for ``arguments``."""
        return self.do("WebDriver:ExecuteScript", script=script, args=list(values), sandbox=None)

    def wait(self, script: str, *values: Any, seconds: float = LIMIT) -> Any:
        """The first true answer of a function body."""
        end = time.monotonic() + seconds
        while not (answer := self.run(script, *values)):
            assert time.monotonic() < end, f"never true in {seconds:g} s: {script}"
            time.sleep(0.03)
        return answer

    def click(self, selector: str) -> None:
        """Click as a person does."""
        found = self.do("WebDriver:FindElement", using="css selector", value=selector)
        self.do("WebDriver:ElementClick", id=next(iter(found.values())))

    def press(self, *keys: str) -> None:
        """Press and let go one key after the other, wherever the focus is."""
        acts = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.do("WebDriver:PerformActions", actions=[{"type": "key", "id": "keys", "actions": acts}])

    def resize(self, width: int, height: int) -> None:
        """Make the page so large, in its own pixels: no window is narrower than 500, so the page is zoomed to it."""
        self._chrome("gBrowser.selectedBrowser.fullZoom = 1")
        self.do("WebDriver:SetWindowRect", width=max(600, width), height=height)
        self.do("WebDriver:SetWindowRect", height=2 * height - self.run("return innerHeight"))
        self._chrome("gBrowser.selectedBrowser.fullZoom = arguments[0]", max(600, width) / width)
        self.wait("return innerWidth === arguments[0]", width)

    def prefer(self, scheme: str) -> None:
        """Tell pages that the reader likes "light" or "dark"."""
        self._chrome(
            "Services.prefs.setIntPref('layout.css.prefers-color-scheme.content-override', arguments[0])",
            {"dark": 0, "light": 1}[scheme],
        )
        self.wait("return matchMedia(`(prefers-color-scheme: ${arguments[0]})`).matches", scheme)

    def _chrome(self, script: str, *values: Any) -> None:
        """Do something with the window itself."""
        self.do("Marionette:SetContext", value="chrome")
        self.do("WebDriver:ExecuteScript", script=script, args=list(values))
        self.do("Marionette:SetContext", value="content")

    def pdf(self) -> str:
        """The page as it would be printed, in Base64."""
        printed: str = self.do("WebDriver:Print")
        return printed


@contextlib.contextmanager
def firefox(folder: Path) -> Iterator[Firefox]:
    """A window with a profile of its own in ``folder``; it is closed in the end."""
    assert FIREFOX is not None
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items())
    (folder / "user.js").write_text("".join(lines), "utf-8")
    port = folder / "MarionetteActivePort"
    command = [FIREFOX, "--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile"]
    environment = {**os.environ, "HOME": str(folder), "MOZ_CRASHREPORTER_DISABLE": "1"}
    with subprocess.Popen(
        [*command, str(folder)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            end = time.monotonic() + LIMIT
            while not (port.is_file() and port.read_text()):
                assert process.poll() is None, f"{FIREFOX} ended with exit code {process.returncode}"
                assert time.monotonic() < end, f"{FIREFOX} never listened"
                time.sleep(0.1)
            with contextlib.closing(Firefox(int(port.read_text()))) as window:
                yield window
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
