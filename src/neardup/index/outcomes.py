"""What an index gives back: plain values, each with ``as_dict`` for JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from neardup.engine.fit import Hint
from neardup.inputs.columns import ReadColumns
from neardup.inputs.passed import PassedOver
from neardup.shown import counted, megabytes
from neardup.types import MOST_FAULTS, Fault


def _without_no_columns(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in fields if name != "columns" or value is not None}


class _Plain:
    __slots__ = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values; ``columns`` of a document only if it has any."""
        return asdict(self, dict_factory=_without_no_columns)  # type: ignore[call-overload, no-any-return]

    def __repr__(self) -> str:
        """Show what matters: no field that is as by default. Of classes with ``repr=False``."""
        shown = [each for each in fields(self) if each.repr]  # type: ignore[arg-type]
        told = [f"{each.name}={value!r}" for each in shown if (value := getattr(self, each.name)) != each.default]
        return f"{type(self).__name__}({', '.join(told)})"

    def _repr_html_(self) -> str:
        from neardup.pages.notebook import view

        told = {name: value for name, value in self.as_dict().items() if value not in (None, (), {}, [])}
        plain = [(name.replace("_", " "), _told(value)) for name, value in told.items()]
        return view(f"neardup.{type(self).__name__}", facts=plain)


def _told(value: Any) -> str:
    """A field of a plain outcome in a few words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_told(each)}" for name, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


class _Counts(_Plain):
    """Counts that add up, of batches that follow each other."""

    __slots__ = ()

    def __add__(self, other: Self) -> Self:
        names = [each.name for each in fields(self)]  # type: ignore[arg-type]
        total = {name: getattr(self, name) + getattr(other, name) for name in names}
        return type(self)(**{**total, "faults": total["faults"][:MOST_FAULTS]})


@dataclass(frozen=True, slots=True, repr=False)
class Hit(_Plain):
    """A document of the index that is like the one asked about."""

    id: int | str
    similarity: float | None
    """Exact Jaccard similarity; None for a candidate that was not checked."""
    bands: int = field(repr=False)
    """Bands of the index in which the two agree."""
    columns: dict[str, Any] | None = None
    """The columns that are stored with the document; None if it has none."""


@dataclass(frozen=True, slots=True, repr=False)
class ContainedHit(_Plain):
    """A document of the index that contains the one asked about, or is contained in it."""

    id: int | str
    similarity: float
    """Exact containment: the share of the shingles of the smaller one that the larger one has."""
    contained: str
    """Which is part of the other: ``query``, ``document`` or, of equally large sets, ``both``."""
    columns: dict[str, Any] | None = None
    """The columns that are stored with the document; None if it has none."""


class Hits(list[Any]):
    """The hits of a query: a list of ``Hit`` or ``ContainedHit``, which a notebook shows as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from neardup.pages.notebook import Table, view

        shown = [each.name for each in fields(self[0])] if self else []
        names = [name for name in shown if name != "columns" or any(hit.columns for hit in self)]
        rows = [[str(each.id), *(getattr(each, name) for name in names[1:])] for each in self]
        return view(counted(len(self), "hit"), tables=[Table(names, rows)])


@dataclass(frozen=True, slots=True)
class Admission(_Plain):
    """What became of a document that was to be added if it is new."""

    id: int | str
    is_new: bool
    """Whether it was added."""
    match: Hit | None
    """If not, a similar document, chosen as ``Index.seen`` does; None if only its id was there already."""


@dataclass(frozen=True, slots=True, repr=False)
class Added(_Counts):
    """What became of documents that were to be added."""

    added: int = 0
    """New ones."""
    replaced: int = 0
    """That took the place of the document of their id."""
    skipped: int = 0
    """Left out because their id was there."""
    empty: int = 0
    """Of those that were added or replaced: without a shingle, so that no query finds them."""
    short: int = 0
    """Of those: of fewer tokens than a shingle has; their whole text is their one shingle."""
    bad: int = 0
    """Records that could not be used."""
    blank: int = 0
    """Blank lines passed over."""
    faults: tuple[Fault, ...] = ()
    """The first bad records, with reasons."""
    passed_over: tuple[PassedOver, ...] = ()
    """Files and folders that the inputs hold and that were not read."""
    hints: tuple[Hint, ...] = ()
    """Of ``Index.build``: what of the texts does not fit the setting, and what to try instead."""
    columns: tuple[ReadColumns, ...] = ()
    """Columns or fields that were read, of inputs that have any."""


@dataclass(frozen=True, slots=True, repr=False)
class Streamed(_Counts):
    """What became of the documents of a stream of which new ones were let through."""

    read: int = 0
    """Documents."""
    new: int = 0
    """Added, and their lines written."""
    near: int = 0
    """Left out because one that was there is like them."""
    skipped: int = 0
    """Left out because their id was there."""
    bad: int = 0
    """Records that could not be used."""
    blank: int = 0
    """Blank lines passed over."""
    paid: int = 0
    """Lines written first, that a run before this one had not: it was killed when their documents were in the index."""
    faults: tuple[Fault, ...] = ()
    """The first bad records, with reasons."""


@dataclass(frozen=True, slots=True)
class RemovedByAge(_Plain):
    """What became of documents that were older than some age."""

    removed: int
    """Documents that are gone, or would be."""
    undated: int
    """Documents that stay since nobody knows when they were added: a neardup before 0.2 added them."""
    before: str
    """Those added before this time went: UTC, in ISO 8601."""


@dataclass(frozen=True, slots=True, repr=False)
class Stored(_Plain):
    """A document of the index."""

    id: int | str
    text: str
    """As it was added; the items of a set with spaces between them."""
    columns: dict[str, Any] | None = None
    """The columns that are stored with it; None if it has none."""


@dataclass(frozen=True, slots=True, repr=False)
class ListedDocument(_Plain):
    """A document of a page."""

    id: int | str
    characters: int | None
    """Of its text; None where no texts were read."""
    opening: str | None
    """The first characters of its text; None where no texts were read."""
    added: str | None = None
    """When it was added: UTC, in ISO 8601; None where nobody knows, as a neardup before 0.2 added it."""
    columns: dict[str, Any] | None = None
    """The columns that are stored with it; None if it has none."""


@dataclass(frozen=True, slots=True)
class IndexPage(_Plain):
    """Some of the documents of an index, in order of addition."""

    documents: tuple[ListedDocument, ...]
    next: int | None
    """What the next page comes ``after``; None when this is the last."""


@dataclass(frozen=True, slots=True)
class IndexStatistics(_Plain):
    """What an index holds, in numbers."""

    documents: int
    empty: int
    """Of them: without a shingle."""
    distinct: int
    """Texts that differ once they are normalised, told apart by hashes of 64 bits."""
    copied: int
    """Documents whose text, normalised, another one has too."""
    largest_group: int
    """Most documents that have one text."""
    sharing: int | None
    """Documents that share a band with one of another text: no query finds a near-duplicate of the others but copies.
    None where the index is too large to count them within about a second."""
    segments: tuple[tuple[int, int], ...]
    """Documents and bytes of each file of postings, in order of addition."""
    tail_documents: int
    """Documents added last, whose postings are in no such file yet."""
    total_bytes: int
    """Of all files; 0 in memory."""
    recall_curve: tuple[tuple[float, float], ...]
    """Probability that a query finds a document, by its similarity: pairs (similarity, probability) from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Verified(_Plain):
    """What a check of all files of an index found."""

    ok: bool
    """Nothing was wrong."""
    faults: tuple[str, ...]
    """What was wrong, each with the name of its file."""
    healed: tuple[str, ...]
    """Files that were made again from the documents."""


@dataclass(frozen=True, slots=True)
class IndexInfo(_Plain):
    """What an index is and holds."""

    path: str | None
    """None in memory."""
    documents: int
    empty: int
    """Of them: without a shingle."""
    threshold: float
    recall: float
    """Promised probability that a query finds a document at the threshold."""
    bands: str
    shingle: str
    normalize: str
    spec: dict[str, Any]
    spec_id: str
    format: int
    """Version of the files."""
    created_by: str
    """Version of neardup that made it."""
    generation: int
    """Raised by every change."""
    segments: int
    """Files of postings."""
    segment_documents: int
    """Documents that they cover; the others are few and kept beside the documents until there are enough."""
    removed: int
    """Removed documents whose postings are not merged away yet."""
    bytes: dict[str, int]
    """Size of each file."""
    total_bytes: int
    healed: int
    """Files that were found damaged or missing and made again since the index was opened."""
    trouble: str | None
    """Why the upkeep in the background fails, if it does; nothing is lost by that, but queries get slower."""

    def __repr__(self) -> str:
        where = self.path or "in memory"
        what = f"{counted(self.documents, 'document')} at {self.threshold}, {megabytes(self.total_bytes)}"
        return f"<neardup.IndexInfo: {where}, {what}, spec {self.spec_id}>"
