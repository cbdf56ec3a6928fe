"""Removal by age over HTTP."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import ROSES, Serving

import neardup
from neardup.index import retention
from neardup.server.tokens import READ, Tokens


def test_documents_have_their_time_and_old_ones_can_be_removed(
    client: TestClient, index: neardup.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = retention.now() + 86400
    monkeypatch.setattr(retention, "now", lambda: later)
    client.post("/documents", json={"id": "new", "text": "a text that came a day later"})
    listed = client.get("/documents").json()["documents"]
    assert listed[-1]["added"] == retention.as_text(later)
    assert all(each["added"] < listed[-1]["added"] for each in listed[:-1])
    would = client.delete("/documents?older_than=12h&dry_run=true").json()
    assert (would["removed"], would["undated"], len(index)) == (len(ROSES), 0, len(ROSES) + 1)
    done = client.delete("/documents?older_than=12h")
    assert (done.status_code, done.json()) == (200, would)
    assert list(index) == ["new"]


@pytest.mark.parametrize("given", ["", "?older_than=", "?older_than=0d", "?older_than=1y", "?dry_run=true",
                                   "?older_than=1d&dry_run=1", "?older_than=1d&ids=a"])  # fmt: skip
def test_nothing_is_removed_without_an_age(client: TestClient, index: neardup.Index, given: str) -> None:
    answer = client.delete("/documents" + given)
    assert answer.status_code == 422
    assert answer.json()["field"] in ("older_than", "dry_run", "ids")
    assert len(index) == len(ROSES)


def test_a_reader_may_not_remove_by_age(index: neardup.Index, serving: Serving) -> None:
    client = serving(index, tokens=Tokens({"word": READ}))
    assert client.delete("/documents?older_than=1s", headers={"authorization": "Bearer word"}).status_code == 403
