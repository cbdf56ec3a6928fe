"""Run by ``test_package`` on the package out of a wheel: everything it has besides code, read by its own code.

stdin: the data of a report and of a comparison as JSON. stdout: digests of the pages that the package makes of them, of
the files that the service sends, and of the texts of the demo.
"""

from __future__ import annotations

import hashlib
import json
import sys

from starlette.testclient import TestClient

import neardup
from neardup import demo
from neardup.pages.site.render import pair_page, report_page
from neardup.server.app import Service


def contents(report: dict[str, object], pair: list[dict[str, object]]) -> dict[str, bytes]:
    """What the package gives, by name."""
    given = {"report": report_page(report), "pair": pair_page(*pair), "demo": demo.read()}
    with neardup.Index.create() as index:
        service = Service(index)
        for path in ("/", "/page.js", "/page.css"):
            answer = TestClient(service).get(path)
            assert answer.status_code == 200, path
            given[path] = answer.content
        service.close()
    return given


def digests(report: dict[str, object], pair: list[dict[str, object]]) -> dict[str, str]:
    """The same as digests."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in contents(report, pair).items()}


if __name__ == "__main__":
    told = digests(**json.load(sys.stdin))
    json.dump({**told, "from": neardup.__file__}, sys.stdout)
