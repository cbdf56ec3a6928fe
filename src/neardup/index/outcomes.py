"""The plain values that an index returns, each with ``as_dict`` for JSON."""

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
        """Show only the fields that differ from their defaults, in classes with ``repr=False``."""
        shown = [each for each in fields(self) if each.repr]  # type: ignore[arg-type]
        told = [f"{each.name}={value!r}" for each in shown if (value := getattr(self, each.name)) != each.default]
        return f"{type(self).__name__}({', '.join(told)})"

    def _repr_html_(self) -> str:
        from neardup.pages.notebook import view

        told = {name: value for name, value in self.as_dict().items() if value not in (None, (), {}, [])}
        plain = [(name.replace("_", " "), _told(value)) for name, value in told.items()]
        return view(f"neardup.{type(self).__name__}", facts=plain)


def _told(value: Any) -> str:
    """Return the value of a field in a few words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_told(each)}" for name, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


class _Counts(_Plain):
    """Counts of successive batches, which can be added."""

    __slots__ = ()

    def __add__(self, other: Self) -> Self:
        names = [each.name for each in fields(self)]  # type: ignore[arg-type]
        total = {name: getattr(self, name) + getattr(other, name) for name in names}
        return type(self)(**{**total, "faults": total["faults"][:MOST_FAULTS]})


@dataclass(frozen=True, slots=True, repr=False)
class Hit(_Plain):
    """A document of the index that is similar to the query."""

    id: int | str
    similarity: float | None
    """Exact Jaccard similarity; None for a candidate that was not checked."""
    bands: int = field(repr=False)
    """The number of bands in which the document and the query agree."""
    columns: dict[str, Any] | None = None
    """The columns stored with the document; None if it has none."""


@dataclass(frozen=True, slots=True, repr=False)
class ContainedHit(_Plain):
    """A document of the index that contains the query or is contained in it."""

    id: int | str
    similarity: float
    """Exact containment: the share of the smaller set's shingles that the larger set has."""
    contained: str
    """The one that is part of the other: ``query``, ``document`` or, if the sets are equally large, ``both``."""
    columns: dict[str, Any] | None = None
    """The columns stored with the document; None if it has none."""


class Hits(list[Any]):
    """A list of ``Hit`` or ``ContainedHit`` from one query, which a notebook shows as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from neardup.pages.notebook import Table, view

        shown = [each.name for each in fields(self[0])] if self else []
        names = [name for name in shown if name != "columns" or any(hit.columns for hit in self)]
        rows = [[str(each.id), *(getattr(each, name) for name in names[1:])] for each in self]
        return view(counted(len(self), "hit"), tables=[Table(names, rows)])


@dataclass(frozen=True, slots=True)
class Admission(_Plain):
    """The outcome of adding a document only if it is new."""

    id: int | str
    is_new: bool
    """Whether it was added."""
    match: Hit | None
    """If it was not added, a similar document, chosen as ``Index.seen`` does; None if only the id was in the index."""


@dataclass(frozen=True, slots=True, repr=False)
class Added(_Counts):
    """The outcome of adding documents."""

    added: int = 0
    """New documents."""
    replaced: int = 0
    """Documents that replaced the one with the same id."""
    skipped: int = 0
    """Documents left out because their id was in the index."""
    empty: int = 0
    """Documents among the added and replaced that have no shingle, so that no query finds them."""
    short: int = 0
    """Documents among them with fewer tokens than a shingle has; their whole text is their one shingle."""
    bad: int = 0
    """Records that could not be used."""
    blank: int = 0
    """Blank lines that were skipped."""
    faults: tuple[Fault, ...] = ()
    """The first bad records, each with a reason."""
    passed_over: tuple[PassedOver, ...] = ()
    """Files and folders of the inputs that were not read."""
    hints: tuple[Hint, ...] = ()
    """From ``Index.build``: the settings that do not suit these texts, and others to try instead."""
    columns: tuple[ReadColumns, ...] = ()
    """The columns or fields that were read, for inputs that have any."""


@dataclass(frozen=True, slots=True, repr=False)
class Streamed(_Counts):
    """The outcome of passing on the new documents of a stream."""

    read: int = 0
    """Documents read."""
    new: int = 0
    """Documents added, whose lines were written."""
    near: int = 0
    """Documents left out because a similar one was in the index."""
    skipped: int = 0
    """Documents left out because their id was in the index."""
    bad: int = 0
    """Records that could not be used."""
    blank: int = 0
    """Blank lines that were skipped."""
    paid: int = 0
    """Lines owed by an earlier run, which was killed after it had added their documents to the index; written first."""
    faults: tuple[Fault, ...] = ()
    """The first bad records, each with a reason."""


@dataclass(frozen=True, slots=True)
class RemovedByAge(_Plain):
    """The outcome of removing documents by age."""

    removed: int
    """Documents that were removed, or would be."""
    undated: int
    """Documents that were kept because their time of addition is unknown: a neardup before 0.2 added them."""
    before: str
    """The time before which a removed document was added: UTC, in ISO 8601."""


@dataclass(frozen=True, slots=True, repr=False)
class Stored(_Plain):
    """A document of the index."""

    id: int | str
    text: str
    """The text as it was added; for a set, its items separated by spaces."""
    columns: dict[str, Any] | None = None
    """The columns stored with it; None if it has none."""


@dataclass(frozen=True, slots=True, repr=False)
class ListedDocument(_Plain):
    """A document in a page of the list."""

    id: int | str
    characters: int | None
    """The length of its text; None if texts were not read."""
    opening: str | None
    """The first characters of its text; None if texts were not read."""
    added: str | None = None
    """The time at which it was added: UTC, in ISO 8601; None if unknown, because a neardup before 0.2 added it."""
    columns: dict[str, Any] | None = None
    """The columns stored with it; None if it has none."""


@dataclass(frozen=True, slots=True)
class IndexPage(_Plain):
    """Some of the documents of an index, in order of addition."""

    documents: tuple[ListedDocument, ...]
    next: int | None
    """The ``after`` of the next page; None if this is the last one."""


@dataclass(frozen=True, slots=True)
class IndexStatistics(_Plain):
    """Statistics of the documents and files of an index."""

    documents: int
    empty: int
    """Documents without a shingle."""
    distinct: int
    """Distinct normalised texts, compared by hashes of 64 bits."""
    copied: int
    """Documents whose normalised text another document has too."""
    largest_group: int
    """The number of documents that have the most frequent text."""
    sharing: int | None
    """Documents that share a bucket with a document of another text. A query with one of the others finds only copies.
    None if the index is too large to count them within about a second."""
    segments: tuple[tuple[int, int], ...]
    """Documents and bytes of each file of postings, in order of addition."""
    tail_documents: int
    """The documents added last, whose postings are not in such a file yet."""
    total_bytes: int
    """The size of all files; 0 in memory."""
    recall_curve: tuple[tuple[float, float], ...]
    """Pairs (similarity, probability that a query finds a document of that similarity), both from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Verified(_Plain):
    """The result of a check of all files of an index."""

    ok: bool
    """Whether everything was right."""
    faults: tuple[str, ...]
    """Everything that was wrong, with the names of the files."""
    healed: tuple[str, ...]
    """Files that were rebuilt from the documents."""


@dataclass(frozen=True, slots=True)
class IndexInfo(_Plain):
    """The settings, contents and files of an index."""

    path: str | None
    """The folder; None in memory."""
    documents: int
    empty: int
    """Documents without a shingle."""
    threshold: float
    recall: float
    """The promised probability that a query finds a document at the threshold."""
    bands: str
    shingle: str
    normalize: str
    spec: dict[str, Any]
    spec_id: str
    format: int
    """The version of the file format."""
    created_by: str
    """The version of neardup that made it."""
    generation: int
    """A number that grows with every change."""
    segments: int
    """The number of files of postings."""
    segment_documents: int
    """Documents with postings in these files; the postings of the few others are kept in the database."""
    removed: int
    """Removed documents whose postings are still in these files."""
    bytes: dict[str, int]
    """The size of each file."""
    total_bytes: int
    healed: int
    """Files that were damaged or missing and have been rebuilt since the index was opened."""
    trouble: str | None
    """The reason why the background upkeep fails, if it does; nothing is lost, but queries become slower."""

    def __repr__(self) -> str:
        where = self.path or "in memory"
        what = f"{counted(self.documents, 'document')} at {self.threshold}, {megabytes(self.total_bytes)}"
        return f"<neardup.IndexInfo: {where}, {what}, spec {self.spec_id}>"
