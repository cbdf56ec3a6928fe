"""Any sequence of changes, questions and restarts answers as a dictionary of sets does."""

from __future__ import annotations

import contextlib
import itertools
import re
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.index.specs import IDS, KINDS, Kind, text_near
from tests.index.tiny import tiny
from tests.oracles import index as oracle
from tests.oracles.jaccard import jaccard

import neardup
from neardup import Index, InputError

CHOICES = st.sampled_from(["error", "skip", "replace"])
TOPS = st.sampled_from([None, None, 1, 2, 10])


def as_found(hits: Iterable[Any]) -> list[oracle.Found]:
    return [(hit.id, hit.similarity) for hit in hits]


class Machine(RuleBasedStateMachine):
    """An index, its naive twin, and, for an index on disk, a reader that is never opened again."""

    @initialize(kind=st.sampled_from(KINDS), on_disk=st.booleans(), reading=st.booleans())
    def begin(self, kind: Kind, on_disk: bool, reading: bool) -> None:
        self.stack = contextlib.ExitStack()
        self.stack.enter_context(tiny(admit_at_once=3))
        self.kind = kind
        self.naive = kind.naive()
        self.folder: Path | None = None
        self.numbers = itertools.count()
        if on_disk:
            self.folder = Path(tempfile.mkdtemp(prefix="neardup-machine-"))
            self.stack.callback(shutil.rmtree, self.folder)
        self.path = None if self.folder is None else self.folder / "index"
        self.index = Index.create(self.path, **kind.options)
        self.reader = Index.open(self.path, read_only=True) if on_disk and reading else None

    def teardown(self) -> None:
        if hasattr(self, "stack"):
            if self.reader is not None:
                self.reader.close()
            self.index.close()
            self.stack.close()

    def draw_documents(self, data: st.DataObject, *, most: int = 6) -> tuple[list[oracle.Id], list[Any]]:
        ids: list[oracle.Id] = data.draw(st.lists(IDS, max_size=most), label="ids")
        known = self.naive.texts
        texts = []
        for _ in ids:
            texts.append(data.draw(text_near(self.kind, [*known, *texts]), label="text"))
        return ids, texts

    def draw_question(self, data: st.DataObject) -> Any:
        """A text; of an index of sets a collection, for there a list of texts would be one set."""
        return self.as_asked(data.draw(text_near(self.kind, self.naive.texts), label="text"))

    def as_asked(self, text: Any) -> Any:
        return text.split() if self.kind.shingle == "item" and isinstance(text, str) else text

    # changes

    @rule(data=st.data(), on_duplicate=CHOICES)
    def add(self, data: st.DataObject, on_duplicate: str) -> None:
        ids, texts = self.draw_documents(data)
        before = self.naive.empty
        try:
            told = self.naive.add(ids, texts, on_duplicate)
        except oracle.DuplicateError as exc:
            with pytest.raises(InputError, match=re.escape(repr(exc.args[0]))):
                self.index.add(ids, texts, on_duplicate=on_duplicate)
            return
        added = self.index.add(ids, texts, on_duplicate=on_duplicate)
        counts = {name: told.count(name) for name in ("added", "replaced", "skipped")}
        assert {name: getattr(added, name) for name in counts} == counts
        assert (added.bad, added.blank) == (0, 0)
        if on_duplicate != "replace":
            assert added.empty == self.naive.empty - before

    @rule(data=st.data(), on_duplicate=CHOICES)
    def add_each(self, data: st.DataObject, on_duplicate: str) -> None:
        ids, texts = self.draw_documents(data)
        assert self.index.add_each(ids, texts, on_duplicate=on_duplicate) == self.naive.add_each(
            ids, texts, on_duplicate
        )

    @rule(data=st.data(), id=IDS)
    def add_one(self, data: st.DataObject, id: oracle.Id) -> None:
        text = data.draw(text_near(self.kind, self.naive.texts), label="text")
        if id in self.naive or not isinstance(text, str):
            return
        self.naive.add([id], [text])
        assert self.index.add(id, text).added == 1

    @rule(data=st.data())
    def add_if_new(self, data: st.DataObject) -> None:
        ids, texts = self.draw_documents(data)
        ids = list({str(id): id for id in ids if id not in self.naive}.values())
        texts = texts[: len(ids)]
        threshold = data.draw(st.sampled_from([None, None, 0.75, 1.0]), label="threshold")
        expected = self.naive.add_if_new(ids, texts, threshold=threshold)
        answers = self.index.add_if_new(ids, texts, threshold=threshold)
        assert [answer.id for answer in answers] == ids
        assert [answer.is_new for answer in answers] == [match is None for match in expected]
        matches = [None if answer.match is None else as_found([answer.match])[0] for answer in answers]
        assert matches == expected

    @rule(data=st.data(), missing=st.sampled_from(["error", "skip"]))
    def remove(self, data: st.DataObject, missing: str) -> None:
        pool = st.one_of(IDS, st.sampled_from(self.naive.ids)) if len(self.naive) else IDS
        ids = data.draw(st.lists(pool, max_size=4), label="ids")
        try:
            gone = self.naive.remove(ids, missing)
        except oracle.MissingError as exc:
            with pytest.raises(InputError, match=re.escape(repr(exc.args[0]))):
                self.index.remove(ids, missing=missing)
            return
        assert self.index.remove(ids, missing=missing) == gone

    @rule(data=st.data(), on_duplicate=CHOICES, as_path=st.booleans())
    def merge(self, data: st.DataObject, on_duplicate: str, as_path: bool) -> None:
        other = self.kind.naive()
        ids, texts = self.draw_documents(data, most=12)
        other.add(ids, texts, "replace")
        path = None if self.folder is None or not as_path else self.folder / f"other-{next(self.numbers)}"
        with Index.create(path, **self.kind.options) as second:
            second.add(ids, texts, on_duplicate="replace")
            if path is None:
                self.merge_from(second, other, on_duplicate)
        if path is not None:
            self.merge_from(path, other, on_duplicate)
            shutil.rmtree(path)

    def merge_from(self, second: Any, other: oracle.NaiveIndex, on_duplicate: str) -> None:
        try:
            told = self.naive.merge(other, on_duplicate)
        except oracle.DuplicateError:
            with pytest.raises(InputError):
                self.index.merge(second, on_duplicate=on_duplicate)
            return
        done = self.index.merge(second, on_duplicate=on_duplicate)
        assert [done.added, done.replaced, done.skipped] == [
            told.count(name) for name in ("added", "replaced", "skipped")
        ]

    @rule()
    def compact(self) -> None:
        self.index.compact()
        assert self.index.info().removed == 0

    # restarts

    @precondition(lambda self: self.path is not None)
    @rule()
    def close_and_open(self) -> None:
        self.index.close()
        self.index = Index.open(self.path)

    @precondition(lambda self: self.path is not None)
    @rule(data=st.data())
    def close_and_read(self, data: st.DataObject) -> None:
        self.index.close()
        self.index = Index.open(self.path, read_only=True)
        self.ask(data)
        with pytest.raises(InputError, match="reading only"):
            self.index.add("new", "text")
        self.index.close()
        self.index = Index.open(self.path)

    @precondition(lambda self: self.path is not None)
    @rule()
    def reader_anew(self) -> None:
        if self.reader is not None:
            self.reader.close()
        self.reader = Index.open(self.path, read_only=True)

    # questions

    @rule(data=st.data())
    def ask(self, data: st.DataObject) -> None:
        count = data.draw(st.integers(1, 4), label="questions")
        texts = [self.draw_question(data) for _ in range(count)]
        top = data.draw(TOPS, label="top")
        threshold = data.draw(st.sampled_from([None, self.kind.threshold, 0.8, 1.0]), label="threshold")
        expected = [self.naive.query(text, top=top, threshold=threshold) for text in texts]
        for index in (self.index, self.reader):
            if index is not None:
                answers = index.query(texts, top=top, threshold=threshold)
                assert [as_found(hits) for hits in answers] == expected
                assert all(1 <= hit.bands <= 128 for hits in answers for hit in hits)
        if isinstance(texts[0], str):
            assert as_found(self.index.query(texts[0], top=top, threshold=threshold)) == expected[0]

    @rule(data=st.data())
    def ask_for_candidates(self, data: st.DataObject) -> None:
        text = self.draw_question(data)
        found = self.index.query([text], top=None, exact=False)[0]
        assert all(hit.similarity is None for hit in found)
        assert {id for id, _ in self.naive.query(text)} <= {hit.id for hit in found}
        place = {str(id): at for at, id in enumerate(self.naive.ids)}
        order = [(-hit.bands, place[str(hit.id)]) for hit in found]
        assert order == sorted(set(order))
        assert [hit.id for hit in self.index.query([text], top=2, exact=False)[0]] == [hit.id for hit in found[:2]]
        same = self.naive.set_of(text)
        for hit in found:
            assert hit.bands == 128 or jaccard(same, self.naive.entries[str(hit.id)].members) < 1

    @rule(id=IDS)
    def get(self, id: oracle.Id) -> None:
        expected = self.naive.get(id)
        for index in (self.index, self.reader):
            if index is None:
                continue
            assert (id in index) == (expected is not None)
            stored = index.get(id)
            if expected is None:
                assert stored is None
            else:
                assert stored is not None
                assert (stored.id, type(stored.id)) == (expected[0], type(expected[0]))
                self.check_text(stored, expected[1])

    def check_text(self, stored: Any, text: Any) -> None:
        if self.kind.shingle == "item":  # joined by spaces; the order of a set is its own
            joined = text if isinstance(text, str) else " ".join(map(str, text))
            assert sorted(stored.text.split()) == sorted(joined.split())
        else:
            assert stored.text == text

    @rule(link=st.sampled_from(["star", "connected"]))
    def find(self, link: str) -> None:
        pairs = {
            frozenset((str(row["id_a"]), str(row["id_b"]))): row["similarity"]
            for row in self.index.pairs(link=link).to_pylist()
        }
        assert pairs == self.naive.pairs()
        if len(self.naive):
            documents = [(str(entry.id), self.as_asked(entry.text)) for entry in self.naive.entries.values()]
            again = neardup.find(documents, link=link, **self.kind.options).clusters.to_pylist()
            clusters = self.index.clusters(link=link).to_pylist()
            assert [{**row, "id": str(row["id"]), "keeper": str(row["keeper"])} for row in clusters] == again

    @rule()
    def verify(self) -> None:
        told = self.index.verify()
        assert (told.ok, told.faults, told.healed) == (True, (), ())
        info = self.index.info()
        assert (info.documents, info.empty) == (len(self.naive), self.naive.empty)
        assert info.healed == 0

    @invariant()
    def ids_are_those_of_the_dictionary(self) -> None:
        if not hasattr(self, "index"):
            return
        for index in (self.index, self.reader):
            if index is not None:
                assert len(index) == len(self.naive)
                ids = list(index)
                assert ids == self.naive.ids
                assert list(map(type, ids)) == list(map(type, self.naive.ids))


PHASES = [Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink]  # to explain costs minutes
SETTINGS = settings(stateful_step_count=25, suppress_health_check=list(HealthCheck), phases=PHASES)


class TestMachine(Machine.TestCase):  # type: ignore[name-defined]
    settings = settings(SETTINGS, max_examples=40)


@pytest.mark.soak
class TestLongMachine(Machine.TestCase):  # type: ignore[name-defined]
    settings = settings(SETTINGS, max_examples=300, stateful_step_count=60)
