"""What the threads do: the calls of ``neardup.Index``, each for a group of jobs that have one key.

So single documents that arrive together are one transaction.
"""

from __future__ import annotations

import json
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from neardup.engine.observe import Silent
from neardup.engine.results.passages import shared_passages
from neardup.errors import InputError
from neardup.index.answers import quick
from neardup.params import CONTAINMENT, DEFAULT_MEASURE
from neardup.server import wire
from neardup.server.limits import ServiceLimits
from neardup.server.problems import Problem
from neardup.tuning import s_curve

if TYPE_CHECKING:
    from neardup.index.outcomes import Admission, Hit
    from neardup.index.store import Index


encode = msgspec.json.Encoder().encode
_QUICK_CHARACTERS, _QUICK_CANDIDATES = 1 << 13, 16
"""A text and its candidates that are compared within a millisecond."""
REMOVAL = "remove"
"""The key of a group of ids that are removed in one transaction."""


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """What queries have in common that may be one call; the key of their group."""

    top: int
    threshold: float | None
    exact: bool
    measure: str = DEFAULT_MEASURE
    nearest: bool = False
    exhaustive: bool = False
    any: bool = False
    where: str | None = None
    """As JSON."""

    @property
    def reads_all(self) -> bool:
        """Whether all stored texts are read for it."""
        return self.exhaustive or self.measure == CONTAINMENT


@dataclass(frozen=True, slots=True)
class AddOptions:
    """How documents are added; the key of a group of them, which is one transaction."""

    on_duplicate: str
    if_new: bool


@dataclass(frozen=True, slots=True)
class LineBatch:
    """Lines of a stream, which are added in one transaction."""

    adding: AddOptions
    first: int
    """Number of its first line, from 1."""
    lines: list[bytes | None]
    """None for a line that was too long to be held."""


def query_options(query: wire.Query) -> QueryOptions:
    """Return the options of a query. Queries of one text with equal options may share a call."""
    top = wire.TOP if query.top is UNSET else query.top
    kind = query.exact, query.measure, query.nearest, query.exhaustive, query.any
    return QueryOptions(top, query.threshold, *kind, wire.where_text(query.where))


class Deadline(Silent):
    """Ends what reads all stored texts when the time for an answer is over; nobody waits for it then."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def advance(self, amount: int) -> None:
        if time.monotonic() > self._end:
            fault = f"not all stored texts could be read within {self._seconds:g} s, the time for an answer."
            raise Problem(504, f"{fault} Start the service with more --answer-seconds.", refused="deadline")


class IndexReader:
    """Makes queries and other calls that change nothing."""

    def __init__(self, index: Index, limits: ServiceLimits) -> None:
        self._index, self._seconds = index, limits.answer_seconds
        self._began = index.info()

    def __call__(self, key: Hashable, values: list[Any]) -> Sequence[Any]:
        """Do a group: texts under a ``QueryOptions``, else one value that is called."""
        if not isinstance(key, QueryOptions):
            return [values[0]()]
        return [encode(wire.Answer(hits=hits)) for hits in self._hits(values, key)]

    def quick(self, text: str, key: QueryOptions) -> bytes | None:
        """Return the answer to one text if that takes a moment for which the event loop may wait, else None."""
        spec = self._index.spec
        is_plain = key.exact and not (key.nearest or key.reads_all or key.where) and spec.shingle.kind != "item"
        if not is_plain or len(text) > _QUICK_CHARACTERS:
            return None
        # With so few candidates the first match that ``any`` ends with is the best one.
        top, threshold = 1 if key.any else key.top, key.threshold or spec.threshold
        hits = quick(self._index._core, text, top=top, threshold=threshold, most=_QUICK_CANDIDATES)
        return None if hits is None else encode(wire.Answer(hits=[_found(hit) for hit in hits]))

    def compact(self) -> bytes:
        """Compact the index, and return the JSON of what that has changed."""
        before = self._index.info()
        self._index.compact()
        after = self._index.info()
        return encode(
            wire.Compacted(
                segments_before=before.segments,
                segments=after.segments,
                bytes_before=before.total_bytes,
                bytes=after.total_bytes,
            )
        )

    def _hits(self, texts: list[str], key: QueryOptions) -> list[list[wire.Found]]:
        """Hits of each text; to an index of sets a list of strings would be one set, so each is cut into its items."""
        index, watching = self._index, Deadline(self._seconds)
        asked: Any = [text.split() for text in texts] if index.spec.shingle.kind == "item" else texts
        how: dict[str, Any] = {"top": key.top, "where": key.where and json.loads(key.where)}
        if key.measure == CONTAINMENT:
            parts = index.query(asked, threshold=key.threshold, measure=CONTAINMENT, observer=watching, **how)
            return [[wire.filled(wire.Found, hit) for hit in hits] for hits in parts]
        if key.any:
            seen = index.seen(asked, threshold=key.threshold, where=how["where"])
            return [[] if hit is None else [_found(hit)] for hit in seen]
        if not key.nearest:
            found = index.query(asked, threshold=key.threshold, exact=key.exact, **how)
            return [[_found(hit) for hit in hits] for hits in found]
        near = index.nearest(asked, threshold=key.threshold or 0.0, exhaustive=key.exhaustive, observer=watching, **how)
        return [[self._near(hit, key.exhaustive) for hit in hits] for hits in near]

    def _near(self, hit: Hit, exhaustive: bool) -> wire.Found:
        """A hit with the probability that one of its similarity is found."""
        assert hit.similarity is not None
        found, bands = _found(hit), self._index.spec.bands
        found.recall = 1.0 if exhaustive else s_curve(hit.similarity, bands.bands, bands.rows)
        return found

    def page(self, options: dict[str, Any]) -> bytes:
        """The JSON of some documents of the index."""
        page = self._index.page(**options)
        listed = [wire.filled(wire.ListedDocument, document) for document in page.documents]
        return encode(wire.Page(documents=listed, next=UNSET if page.next is None else page.next))

    def statistics(self) -> bytes:
        """The JSON of what the index holds in numbers."""
        told = self._index.statistics()
        values = {
            **told.as_dict(),
            "segments": [wire.Segment(documents=documents, bytes=size) for documents, size in told.segments],
            "recall_curve": [wire.Chance(similarity=at, probability=chance) for at, chance in told.recall_curve],
            "documents_at_start": self._began.documents,
            "changes_since_start": self._index.info().generation - self._began.generation,
        }
        return encode(wire.Statistics(**values))

    def query(self, query: wire.Query) -> bytes:
        """The JSON of the answer to a query of many texts, or of one with texts or passages."""
        deadline = time.monotonic() + self._seconds
        texts = [query.text] if isinstance(query.text, str) else query.texts
        assert isinstance(texts, list)
        found = [self._with_texts(hits, query, deadline) for hits in self._hits(texts, query_options(query))]
        return encode(wire.Answers(results=found) if query.text is UNSET else found[0])

    def _with_texts(self, hits: list[wire.Found], query: wire.Query, deadline: float) -> wire.Answer:
        """The hits with what else was asked for; one that was removed a moment ago is left out."""
        if not (query.with_text or query.passages):
            return wire.Answer(hits=hits)
        answer = wire.Answer(hits=[])
        for found, stored in zip(hits, self._index.get_many([found.id for found in hits]), strict=True):
            if time.monotonic() > deadline:
                raise Problem(504, f"the answer took longer than {self._seconds:g} s. Ask for fewer hits with top.")
            if stored is None:
                continue
            if query.with_text:
                found.text = stored.text
            if query.passages:
                assert isinstance(query.text, str)
                spec = self._index.spec
                shared = shared_passages(query.text, stored.text, shingle=spec.shingle, normalize=spec.normalize)
                found.query_marks, found.marks = shared.a, shared.b
                found.links, found.back_links = shared.links, shared.back
            answer.hits.append(found)
        return answer


class IndexWriter:
    """Adds and removes documents; a pool of one thread calls it."""

    def __init__(self, index: Index, limits: ServiceLimits) -> None:
        self._index, self._limits = index, limits

    def __call__(self, key: Hashable, values: list[Any]) -> Sequence[Any]:
        """Do a group: documents under an ``AddOptions``, ids under ``REMOVAL``, or one other job."""
        if isinstance(key, AddOptions):
            return self._add(key, values)
        if key == REMOVAL:
            return self._remove(values)
        return [self._batch(values[0]) if isinstance(values[0], LineBatch) else encode(values[0](self._index))]

    def _add(self, adding: AddOptions, documents: list[wire.Document]) -> list[tuple[str, wire.Match | None]]:
        if adding.if_new and adding.on_duplicate == "error":
            return self._add_new(documents)
        add = self._index.add_if_new if adding.if_new else self._index.add_each
        made: list[Any] = add(**_given(documents), on_duplicate=adding.on_duplicate)
        return [_admitted(each) if adding.if_new else (each, None) for each in made]

    def _add_new(self, documents: list[wire.Document]) -> list[tuple[str, wire.Match | None]]:
        """Add what is new, telling of an id that is there; the index would refuse the whole group for it."""
        known = [document.id in self._index for document in documents]
        fresh = [place for place, is_known in enumerate(known) if not is_known]
        outcomes: list[tuple[str, wire.Match | None]] = [("duplicate", None)] * len(documents)
        if not fresh:
            return outcomes
        try:
            made = self._index.add_if_new(**_given([documents[place] for place in fresh]))
        except InputError:
            if len(fresh) == 1:
                raise
            # An id that comes twice in the group: one by one, the second finds the first.
            return [outcome for document in documents for outcome in self._add_new([document])]
        for place, admission in zip(fresh, made, strict=True):
            outcomes[place] = _admitted(admission)
        return outcomes

    def _remove(self, ids: list[str]) -> list[bool]:
        """Whether each id was there; it is not any more."""
        present = {id for id in ids if id in self._index}
        self._index.remove(sorted(present))
        there = []
        for id in ids:
            there.append(id in present)
            present.discard(id)  # asked for twice at once: the second finds it gone
        return there

    def _batch(self, batch: LineBatch) -> bytes:
        """Add the documents of a batch and return the status lines."""
        statuses: list[wire.LineStatus] = []
        documents: list[wire.Document] = []
        places: list[int] = []
        for number, line in enumerate(batch.lines, batch.first):
            document = self._parse(line)
            if isinstance(document, wire.Document):
                places.append(len(statuses))
                documents.append(document)
                statuses.append(wire.LineStatus(line=number, id=document.id, status="bad"))
            else:
                statuses.append(wire.LineStatus(line=number, status="bad", error=document))
        outcomes = self._add(batch.adding, documents) if documents else []
        for place, (status, match) in zip(places, outcomes, strict=True):
            statuses[place].status = status  # type: ignore[assignment]
            if match is not None:
                statuses[place].match = match
        return b"".join(encode(status) + b"\n" for status in statuses)

    def _parse(self, line: bytes | None) -> wire.Document | str:
        """The document of a line, or what is wrong with the line."""
        if line is None:
            return f"the line is longer than {self._limits.document_bytes} bytes."
        if not line.strip():
            return "the line is blank."
        try:
            document = wire.read(wire.Document, line)
            wire.check_document(document, self._limits)
        except Problem as problem:
            return problem.error
        return document


def warm_up(index: Index) -> None:
    """Have the kernels loaded, which takes a second or two that the first request would wait for."""
    from neardup.index.store import Index

    spec = index.spec
    texts = ["what is asked for in order to have the kernels ready", "and another text"]
    fixed = ("threshold", "recall", "shingle", "normalize", "slots", "bands", "seed")
    with Index.create(**{name: getattr(spec, name) for name in fixed}) as small:
        small.add_each([1, 2], texts)
        small.add_if_new([3], texts[:1])
        small.query(texts)
        small.query(texts[0], exact=False)
        small.nearest(texts, exhaustive=True)
        small.remove([1])
    shared_passages(texts[0], texts[0], shingle=spec.shingle, normalize=spec.normalize)
    index.query(texts)


def _given(documents: list[wire.Document]) -> dict[str, Any]:
    """Return ids, texts and columns of documents, as the methods of an index take them."""
    ids, texts = [document.id for document in documents], [document.text for document in documents]
    return {"ids": ids, "texts": texts, "columns": [document.columns or None for document in documents]}


def _admitted(made: Admission) -> tuple[str, wire.Match | None]:
    if made.is_new:
        return "added", None
    if made.match is None:
        return "skipped", None
    assert made.match.similarity is not None
    return "near-duplicate", wire.Match(id=made.match.id, similarity=made.match.similarity)


def _found(hit: Hit) -> wire.Found:
    return wire.Found(id=hit.id, similarity=hit.similarity, bands=hit.bands, columns=hit.columns or UNSET)
