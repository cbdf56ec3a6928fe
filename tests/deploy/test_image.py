"""The steps of the image, done here: what the Dockerfile runs is run, with other paths, and serves.

There is no container engine and no network; what pip would fetch is taken from the environment of the tests, and the
kernels from the checkout's own machine code.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from tests.deploy.test_files import DEPLOY, instructions, last
from tests.warm import LIMIT

ROOT = DEPLOY.parent


def tree(*folders: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file, to see that nothing was written."""
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns)
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.slow
def test_the_steps_of_the_image_make_a_service_that_writes_only_its_data(tmp_path: Path) -> None:
    source, target, data = tmp_path / "source", tmp_path / "neardup", tmp_path / "data"
    places = {"/source": str(source), "/opt/neardup": str(target), "/data": str(data)}

    def here(words: str) -> str:
        for there, place in places.items():
            words = words.replace(there, place)
        return words

    environment = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environment |= {
        "PYTHON": sys.executable,
        "PYTHONPATH": sysconfig.get_paths()["purelib"],
        "PIP_OPTIONS": "--quiet --no-index --no-deps --no-build-isolation --disable-pip-version-check",
        "PIP_IGNORE_INSTALLED": "1",  # pip sees the neardup of the tests by PYTHONPATH
        "HOME": str(tmp_path / "home"),
    }
    stages = [at for at, (name, _) in enumerate(instructions()) if name == "FROM"]
    for name, rest in instructions()[stages[0] : stages[1]]:
        if name == "COPY":
            *sources, into = rest.split()
            for each in sources:
                place = Path(here(into)) / Path(each).name if into.endswith("/") else Path(here(into))
                place.parent.mkdir(parents=True, exist_ok=True)
                if (ROOT / each).is_dir():
                    shutil.copytree(ROOT / each, place, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / each, place)
        elif name == "RUN":
            done = subprocess.run(
                shlex.split(here(rest)), env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr
    assert list(target.glob("lib/python*/site-packages/neardup/server/app.py"))

    tokens = tmp_path / "tokens"
    tokens.write_text("read word-of-a-reader\nwrite word-of-a-writer\n")
    tokens.chmod(0o400)
    data.mkdir()
    settings = dict(word.split("=", 1) for word in here(last("ENV")).split())
    environment |= {"INDEX_FOLDER": settings["INDEX_FOLDER"], "INDEX_OPTIONS": "--shingle char:5 --threshold 0.6"}
    environment |= {"PYTHONDONTWRITEBYTECODE": settings["PYTHONDONTWRITEBYTECODE"], "HOME": str(tmp_path / "no-home")}
    words = json.loads(last("ENTRYPOINT")) + json.loads(last("CMD"))
    words = [str(target / "bin" / words[0]), *words[1:]]
    words[words.index("--token-file") + 1] = str(tokens)
    words[words.index("--host") + 1] = "127.0.0.1"
    words[words.index("--port") + 1] = "0"
    before = tree(target, source)
    process = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True)
    with process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            url = said.split()[-1]
            assert url.startswith("http://127.0.0.1:"), said + process.stderr.read()
            _, check = last("HEALTHCHECK").split(" CMD ")
            command = [word.replace("http://127.0.0.1:8000", url) for word in json.loads(check)]
            subprocess.run([sys.executable, *command[1:]], check=True, timeout=LIMIT)

            def ask(method: str, path: str, word: str, body: bytes | None = None) -> int:
                headers = {"authorization": f"Bearer {word}", "content-type": "application/json"}
                asked = urllib.request.Request(url + path, method=method, data=body, headers=headers)
                try:
                    with urllib.request.urlopen(asked, timeout=LIMIT) as answer:
                        return answer.status
                except urllib.error.HTTPError as exc:
                    return exc.code

            document = b'{"id": "a", "text": "a document for the index of the image"}'
            assert ask("POST", "/documents", "word-of-a-reader", document) == 403
            assert ask("POST", "/documents", "word-of-a-writer", document) == 201
            assert ask("POST", "/query", "word-of-a-reader", b'{"text": "a document for the index"}') == 200
            process.send_signal(signal.SIGTERM)
            rest = process.stderr.read()
            assert process.wait(LIMIT) == 0, rest
        finally:
            process.kill()
    lines = [json.loads(line) for line in rest.splitlines() if line.startswith("{")]
    assert [(line["status"], line["role"]) for line in lines] == [
        (200, None), (403, "read"), (201, "write"), (200, "read")
    ]  # fmt: skip
    assert tree(target, source) == before
    assert sorted(path.name for path in data.iterdir()) == ["index"]
    assert not (tmp_path / "no-home").exists()

    # A second start finds the index, and does not make it again.
    again = subprocess.run(
        [words[0], "--port", "none"], env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert again.returncode == 2
    assert "index create" not in again.stderr
