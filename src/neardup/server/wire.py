"""The JSON of the service: what it takes and gives, as types; from them ``/openapi.json`` has its schemas.

They are read strictly: wrong JSON is 400, a value that cannot be used is 422 and names its field.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from neardup.errors import InputError
from neardup.index.outcomes import IndexInfo, IndexStatistics
from neardup.inputs.json_columns import MOST_BYTES, checked_where, columns_json
from neardup.inputs.source import BadRecord
from neardup.server.limits import ServiceLimits
from neardup.server.problems import Problem

TOP = 10
"""The most hits of a text, if a query does not say."""
MOST_HITS = 1000
"""Hits of one text, at most."""
MOST_ID = 1024
"""Characters of an id, at most: one that is longer could not be asked for in a path."""

Id = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | Annotated[str, Meta(min_length=1, max_length=MOST_ID)]
OutId = int | str
Where = dict[str, str | int | float | bool | None]
Mark = tuple[int, int]


_THRESHOLD = (
    "Least similarity. Absent, it is the index's own, and may not be below that; with nearest or of containment it may."
)
_MEASURE = (
    "containment: documents that contain the text, or are part of it. For this all stored texts are read; it is exact."
)
_NEAREST = (
    "true: the hits may lie below the threshold of the index. Their similarities are exact; recall says how probably"
    " a document of that similarity is found, for below the threshold the bands miss ever more of them."
)
_ANY = (
    "true: one hit at most, to know whether there is any. The search ends with the first document that is verified, so"
    " this is much faster if thousands are like the text. The hit need not be the most similar."
)
_EXHAUSTIVE = "true, with nearest: hold the text against every stored text, which misses none and takes longer."


_COLUMNS = (
    f"What is stored beside the text and comes back with hits: a JSON object of at most {MOST_BYTES // 1024} KiB."
)
_WHERE = (
    "Only documents whose columns have all these values. As in JSON, 1 equals 1.0 and does not equal true; a column"
    " that is absent equals nothing, not even null."
)
Columns = Annotated[dict[str, Any], Meta(description=_COLUMNS)]


class Query(Struct, kw_only=True, forbid_unknown_fields=True):
    """What to look for."""

    text: str | UnsetType = UNSET
    texts: list[str] | UnsetType = UNSET
    top: Annotated[int, Meta(ge=1, le=MOST_HITS, description=f"Most hits of a text. Default: {TOP}.")] | UnsetType = (
        UNSET
    )
    threshold: Annotated[float, Meta(gt=0, le=1, description=_THRESHOLD)] | None = None
    measure: Annotated[Literal["jaccard", "containment"], Meta(description=_MEASURE)] = "jaccard"
    any: Annotated[bool, Meta(description=_ANY)] = False
    nearest: Annotated[bool, Meta(description=_NEAREST)] = False
    exhaustive: Annotated[bool, Meta(description=_EXHAUSTIVE)] = False
    where: Annotated[Where, Meta(description=_WHERE, min_length=1)] | None = None
    exact: Annotated[bool, Meta(description="false: candidates that were not checked, without similarity.")] = True
    with_text: Annotated[bool, Meta(description="Give the text of each hit.")] = False
    passages: Annotated[bool, Meta(description="Mark what each hit shares with the text.")] = False


class Document(Struct, kw_only=True, forbid_unknown_fields=True):
    """A document to add."""

    id: Id
    text: str
    columns: Columns | UnsetType | None = UNSET


class Nothing(Struct, kw_only=True, forbid_unknown_fields=True):
    """An empty object, sent so that a browser asks before it sends another site's request (see ``app``)."""


class Found(Struct, kw_only=True):
    """A document of the index that is like the text. Marks are spans of code points, the end not included."""

    id: OutId
    similarity: float | None
    bands: Annotated[int, Meta(ge=0, description="Bands of the index in which the two agree.")] | UnsetType = UNSET
    recall: (
        Annotated[float, Meta(ge=0, le=1, description="Of nearest: how probably one of this similarity is found.")]
        | UnsetType
    ) = UNSET
    contained: (
        Annotated[Literal["query", "document", "both"], Meta(description="Of containment: which is part of the other.")]
        | UnsetType
    ) = UNSET
    columns: Columns | UnsetType = UNSET
    text: str | UnsetType = UNSET
    marks: Annotated[list[Mark], Meta(description="Shared passages in the hit's text.")] | UnsetType = UNSET
    links: (
        Annotated[list[int], Meta(description="For each of query_marks, the mark that it belongs to.")] | UnsetType
    ) = UNSET
    query_marks: Annotated[list[Mark], Meta(description="Shared passages in the text asked about.")] | UnsetType = UNSET
    back_links: Annotated[list[int], Meta(description="For each of marks, its partner in query_marks.")] | UnsetType = (
        UNSET
    )


class Answer(Struct, kw_only=True):
    """What is like a text, best first."""

    hits: list[Found]


class Answers(Struct, kw_only=True):
    """An answer for each text, in their order."""

    results: list[Answer]


class Match(Struct, kw_only=True):
    """The document that a refused one is like."""

    id: OutId
    similarity: float


class Status(Struct, kw_only=True):
    """What became of a document."""

    id: OutId
    status: Literal["added", "replaced", "skipped", "near-duplicate"]
    match: Match | UnsetType = UNSET


class LineStatus(Struct, kw_only=True):
    """What became of a line of a stream. ``stopped``: neither it nor what follows was added."""

    line: Annotated[int, Meta(ge=1)]
    id: OutId | UnsetType = UNSET
    status: Literal["added", "replaced", "skipped", "duplicate", "near-duplicate", "bad", "stopped"]
    match: Match | UnsetType = UNSET
    error: str | UnsetType = UNSET


class StoredDocument(Struct, kw_only=True):
    """A document as it was added."""

    id: OutId
    text: str
    columns: Columns | UnsetType = UNSET


_TIME = "UTC, to the second; absent where nobody knows, as a neardup before 0.2 added the document."
Time = Annotated[str, Meta(description=_TIME, extra_json_schema={"format": "date-time"})]


class RemovedDocuments(Struct, kw_only=True):
    """What became of documents that were older than some age, or that had some columns."""

    removed: Annotated[int, Meta(ge=0, description="Documents that are gone, or with dry_run would be.")]
    undated: (
        Annotated[int, Meta(ge=0, description="Of an age: documents that stay, because nobody knows theirs.")]
        | UnsetType
    ) = UNSET
    before: (
        Annotated[
            str, Meta(description="Of an age: those added before went.", extra_json_schema={"format": "date-time"})
        ]
        | UnsetType
    ) = UNSET


class Compacted(Struct, kw_only=True):
    """What compaction has changed: files of postings, and bytes of the whole index on the disk."""

    segments_before: Annotated[int, Meta(ge=0)]
    segments: Annotated[int, Meta(ge=0)]
    bytes_before: Annotated[int, Meta(ge=0)]
    bytes: Annotated[int, Meta(ge=0)]


class ListedDocument(Struct, kw_only=True):
    """A document of a page."""

    id: OutId
    characters: Annotated[int, Meta(ge=0, description="Of the whole text.")] | UnsetType = UNSET
    opening: Annotated[str, Meta(description="The first characters of the text.")] | UnsetType = UNSET
    added: Time | UnsetType = UNSET
    columns: Columns | UnsetType = UNSET


class Page(Struct, kw_only=True):
    """Some documents, in order of addition."""

    documents: list[ListedDocument]
    next: Annotated[int, Meta(description="What the next page is to come after; absent on the last.")] | UnsetType = (
        UNSET
    )


class Health(Struct, kw_only=True):
    """The service answers, or is ready."""

    status: Literal["ok"]


_TOLD = [(name, kind) for name, kind in get_type_hints(IndexInfo).items() if name != "path"]
Info = msgspec.defstruct(
    "Info",
    [*_TOLD, ("read_only", bool)],
    namespace={"__doc__": "What the index is and holds; its place on the disk is not shown."},
    kw_only=True,
)


class Segment(Struct, kw_only=True):
    """A file of postings."""

    documents: int
    bytes: int


class Chance(Struct, kw_only=True):
    """How probably a query finds a document, by its similarity to the text."""

    similarity: float
    probability: float


_STRUCTS: dict[str, Any] = {"segments": list[Segment], "recall_curve": list[Chance]}
_COUNTED = [(name, _STRUCTS.get(name, kind)) for name, kind in get_type_hints(IndexStatistics).items()]
Statistics = msgspec.defstruct(
    "Statistics",
    [*_COUNTED, ("documents_at_start", int), ("changes_since_start", int)],
    namespace={
        "__doc__": "What the index holds in numbers. distinct: texts that differ once they are normalised. copied:"
        " documents whose text another one has. sharing: documents that share a band with one of another text; all"
        " others have no near-duplicate that a query would find, but copies. segments: files of postings, in order of"
        " addition. tail_documents: those added last, in no such file yet. documents_at_start: when the service began."
    },
    kw_only=True,
)


class ProblemBody(Struct, kw_only=True):
    """Why a request was not done."""

    error: str
    field: Annotated[str, Meta(description="Of the body, or the parameter.")] | UnsetType = UNSET
    incident: Annotated[str, Meta(description="Under which the log of the service tells more.")] | UnsetType = UNSET


T = TypeVar("T", Query, Document, Nothing)
S = TypeVar("S", bound=Struct)


def filled(kind: type[S], made: Any) -> S:
    """Return what an index has made as one of the types here, without the fields that it lacks."""
    values = {name: getattr(made, name, None) for name in kind.__struct_fields__}
    return kind(**{name: value for name, value in values.items() if value is not None})


_DECODERS: dict[type[Any], msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(kind) for kind in (Query, Document, Nothing)
}
_AT = re.compile(r"(?P<fault>.*?)(?: - at `\$\.?(?P<at>.*)`)?", re.DOTALL)
_NAMED = re.compile(r"(?:unknown|required) field `([^`]*)`")


def read(kind: type[T], body: bytes) -> T:
    """The value of a JSON body."""
    try:
        value: T = _DECODERS[kind].decode(body)
    except msgspec.ValidationError as exc:
        raise _unusable(exc) from exc
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise Problem(400, f"the JSON cannot be read: {exc}.") from exc
    return value


def _unusable(exc: msgspec.ValidationError) -> Problem:
    found = _AT.fullmatch(str(exc))
    assert found is not None, "the pattern matches any text"
    named = _NAMED.search(found["fault"])
    field = ".".join(part for part in (found["at"], named[1] if named else None) if part)
    fault = found["fault"].replace("`", "'")
    return Problem(422, f"{field}: {fault}." if field else f"{fault}.", field=field or None)


def check_query(query: Query, limits: ServiceLimits, threshold: float) -> None:
    """See that the fields of a query go together and keep to the limits. Raises Problem: 422, naming the field."""
    if (query.text is UNSET) == (query.texts is UNSET):
        raise Problem(422, "give either text, or texts as a list.", field="text")
    where_text(query.where)
    _check_kind(query, threshold)
    if isinstance(query.text, str):
        check_text(query.text, limits)
        return
    assert isinstance(query.texts, list)
    if query.passages:
        raise Problem(422, "passages are marked for one text, not for texts.", field="passages")
    if len(query.texts) > limits.texts:
        raise Problem(422, f"there are {len(query.texts)} texts; {limits.texts} are allowed.", field="texts")
    for place, text in enumerate(query.texts):
        check_text(text, limits, f"texts[{place}]")


def _check_kind(query: Query, threshold: float) -> None:
    """See that what is asked for is one of four: by the threshold, unchecked, nearest, containment."""
    is_containment = query.measure == "containment"
    others = {
        "top": query.top is not UNSET,
        "exact": not query.exact,
        "nearest": query.nearest,
        "measure": is_containment,
    }
    if query.any and (wanted := [field for field, is_given in others.items() if is_given]):
        fault = f"any gives one verified hit at most, by the threshold, so it does not go with {wanted[0]}."
        raise Problem(422, f"{fault} Leave one of them out.", field=wanted[0])
    if query.exhaustive and not query.nearest:
        raise Problem(422, "exhaustive is for nearest. Give nearest as well.", field="exhaustive")
    if is_containment and query.nearest:
        fault = "nearest is for jaccard: of containment any threshold can be asked for, and none is missed."
        raise Problem(422, fault, field="nearest")
    if not query.exact and (is_containment or query.nearest):
        raise Problem(422, "containment and nearest are always exact. Leave exact out.", field="exact")
    if query.threshold is None:
        return
    if not query.exact:
        raise Problem(422, "a threshold needs similarities, which exact=false leaves out.", field="threshold")
    if query.threshold < threshold and not (is_containment or query.nearest):
        fault = f"threshold is {query.threshold:g}, and the index was made for {threshold:g}. Give that or more, or"
        raise Problem(422, f"{fault} nearest, which says how many are missed.", field="threshold")


def check_document(document: Document, limits: ServiceLimits) -> None:
    """See that a document keeps to the limits. Raises Problem: 422, naming the field."""
    check_text(document.text, limits)
    try:
        columns_json(document.columns or {})
    except BadRecord as exc:
        raise Problem(422, f"{exc}. {exc.cure}", field="columns") from exc


def where_text(where: Where | None) -> str | None:
    """Return a filter as JSON, which can be part of a key. Raises Problem: 422, naming the field."""
    try:
        return None if where is None else json.dumps(checked_where(where))
    except InputError as exc:
        raise Problem(422, str(exc), field="where") from exc


def read_where(text: str) -> Where:
    """Return the filter in a parameter. Raises Problem: 422, naming the parameter."""
    try:
        where: Where = msgspec.json.decode(text, type=Where)
    except (msgspec.DecodeError, RecursionError) as exc:
        fault = f"where is not a JSON object of strings, numbers, booleans and null ({exc})."
        raise Problem(422, fault, field="where") from exc
    where_text(where)
    return where


def check_text(text: str, limits: ServiceLimits, field: str = "text") -> None:
    """See that a text keeps to the limits. Raises Problem: 422, naming the field."""
    if len(text) > limits.characters:
        raise Problem(422, f"{field} has {len(text)} characters; {limits.characters} are allowed.", field=field)
