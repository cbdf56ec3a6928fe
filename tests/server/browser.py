"""A headless Chromium by the WebDriver protocol, with nothing but the standard library."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

from tests.warm import LIMIT

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""Key of an element in WebDriver's JSON."""
ENTER, CONTROL, RIGHT, LEFT, TAB = "\ue007", "\ue009", "\ue014", "\ue012", "\ue004"


class Browser:
    """One window."""

    def __init__(self, port: int, profile: str) -> None:
        self._base = f"http://127.0.0.1:{port}"
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": CHROMIUM, "args": [*FLAGS, f"--user-data-dir={profile}"]},
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{made['sessionId']}"

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as exc:
            with exc:
                raise AssertionError(f"{path}: {exc.read().decode()[:2000]}") from None

    def _do(self, path: str, **body: Any) -> Any:
        return self._call("POST", self._session + path, body)

    def open(self, url: str) -> None:
        """Go there; what the console said before is forgotten."""
        self._do("/url", url=url)

    def run(self, script: str, *values: Any) -> Any:
        """What a function body gives for ``arguments``."""
        return self._do("/execute/sync", script=script, args=list(values))

    def wait(self, script: str, *values: Any, seconds: float = LIMIT) -> Any:
        """The first true answer of a function body."""
        until = time.monotonic() + seconds
        while not (answer := self.run(script, *values)):
            assert time.monotonic() < until, f"never true in {seconds:g} s: {script}"
            time.sleep(0.03)
        return answer

    def find(self, selector: str) -> str:
        """The first element of a CSS selector."""
        element: str = self._do("/element", using="css selector", value=selector)[ELEMENT]
        return element

    def click(self, selector: str) -> None:
        """Click as a person does: what lies over the element takes the click."""
        self._do(f"/element/{self.find(selector)}/click")

    def type(self, selector: str, keys: str) -> None:
        """Type into an element."""
        self._do(f"/element/{self.find(selector)}/value", text=keys)

    def press(self, *keys: str) -> None:
        """Press keys together, wherever the focus is, and let them go."""
        down = [{"type": "keyDown", "value": key} for key in keys]
        up = [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self._do("/actions", actions=[{"type": "key", "id": "keys", "actions": down + up}])

    def devtools(self, command: str, **parameters: Any) -> Any:
        """A command of Chromium's own protocol."""
        return self._do("/goog/cdp/execute", cmd=command, params=parameters)

    def console(self) -> list[str]:
        """What the console says since it was last asked."""
        return [entry["message"] for entry in self._do("/se/log", type="browser")]

    def screenshot(self) -> bytes:
        """What is seen, as PNG."""
        return base64.b64decode(self._call("GET", self._session + "/screenshot"))

    def quit(self) -> None:
        """Close the window."""
        self._call("DELETE", self._session)


@contextlib.contextmanager
def chromium() -> Iterator[Callable[[], Browser]]:
    """A function that opens windows, each with a profile of its own; all are closed in the end."""
    windows: list[Browser] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, _driver() as port:

        def window() -> Browser:
            windows.append(Browser(port, tempfile.mkdtemp(dir=folder)))
            return windows[-1]

        try:
            yield window
        finally:
            for one in windows:
                with contextlib.suppress(AssertionError, OSError):
                    one.quit()


@contextlib.contextmanager
def _driver() -> Iterator[int]:
    """The port of a running chromedriver. It takes a port that is free for IPv4, and ends if that is not for IPv6."""
    assert DRIVER is not None
    said = ""
    for _ in range(5):
        with subprocess.Popen(
            [DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as driver:
            try:
                assert driver.stdout is not None
                for line in driver.stdout:
                    said += line
                    if found := re.search(r"successfully on port (\d+)", line):
                        yield int(found[1])
                        return
            finally:
                driver.terminate()
    raise AssertionError(f"chromedriver does not start:\n{said}")
