"""An index of sets behind the service: a text is the set of its words, alone or among several."""

from __future__ import annotations

from neardup import Index
from neardup.server.jobs import IndexReader, QueryOptions
from neardup.server.limits import ServiceLimits
from neardup.server.wire import Query

SETS = {"a": "milk bread butter", "b": "bolts nuts screws"}


def test_several_texts_are_several_sets() -> None:
    with Index.create(threshold=0.5, shingle="item") as index:
        index.add(list(SETS), list(SETS.values()))
        reading = IndexReader(index, ServiceLimits())
        answers = reading(QueryOptions(10, None, True), ["bread milk butter", "screws bolts", "tea"])
        assert [b'"a"' in answers[0], b'"b"' in answers[1], b'"hits":[]' in answers[2]] == [True, True, True]
        whole = reading.query(Query(texts=["bread milk butter", "screws bolts"], with_text=True))
        assert whole.count(b'"similarity"') == 2
        assert b"milk bread butter" in whole
