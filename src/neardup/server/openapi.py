"""``/openapi.json``: the routes, their types and limits, as OpenAPI 3.1.

Schemas come from the types in ``wire``, with the limits of this service written into them. A test holds the operations
against the routes of ``app``, another the answers against this.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from neardup._version import __version__
from neardup.server import wire
from neardup.server.limits import ServiceLimits
from neardup.server.parameters import ORDERS, PAGE_NUMBERS

_TYPES = (
    *(wire.Answer, wire.Answers, wire.Chance, wire.Document, wire.Health, wire.Info, wire.LineStatus, wire.Page),
    *(wire.ProblemBody, wire.Query, wire.Segment, wire.Statistics, wire.Status, wire.StoredDocument),
)
_REF = "#/components/schemas/{name}"
_JSON, _NDJSON = "application/json", "application/x-ndjson"
_BY_ANY = (401, 421, 500, 503)
"""Problems of every operation; without a token there is no 401, and none of ``/health``."""
_ABOUT = {
    400: "The JSON cannot be read.",
    401: "The token is missing or wrong.",
    403: "The index is open for reading only.",
    404: "There is no such document.",
    408: "The body did not arrive in time.",
    409: "The id is there already.",
    413: "The body is too large.",
    415: "The content type is another.",
    421: "The service was called by a name that is not its machine's.",
    422: "A value cannot be used; its field is named.",
    500: "The service failed; its stderr tells more.",
    503: "Too much is at work: try again after the seconds of Retry-After.",
    504: "It was not done in time.",
    507: "The disk is full, or cannot be written.",
}
_FOX = {"id": "fox", "text": "the quick brown fox jumps over the lazy dog"}
_WITH_BODY = (400, 408, 413, 415, 422)


def document(limits: ServiceLimits, threshold: float) -> dict[str, Any]:
    """The description of a service with these limits, of an index of this threshold, as plain JSON values."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "neardup",
            "version": __version__,
            "description": "Near-duplicates of a text in an index. Similarities are exact: Jaccard, or containment.",
        },
        "paths": _paths(limits),
        "components": {
            "schemas": _schemas(limits, threshold),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _schemas(limits: ServiceLimits, threshold: float) -> dict[str, Any]:
    """The types, and a query as its two forms: of one text, and of several."""
    _, schemas = msgspec.json.schema_components(_TYPES, ref_template=_REF)
    query = schemas.pop("Query")
    text = {"type": "string", "maxLength": limits.characters}
    fields: dict[str, Any] = query["properties"]
    shared = {name: field for name, field in fields.items() if name not in ("text", "texts", "passages")}
    texts = {"type": "array", "items": text, "maxItems": limits.texts}
    off = {**fields["passages"], "const": False}
    query["anyOf"] = _kinds(threshold)
    schemas["QueryText"] = {
        **query,
        "title": "QueryText",
        "properties": {"text": text, **shared, "passages": fields["passages"]},
        "required": ["text"],
    }
    schemas["QueryTexts"] = {
        **query,
        "title": "QueryTexts",
        "properties": {"texts": texts, **shared, "passages": off},
        "required": ["texts"],
    }
    schemas["Document"]["properties"]["text"] = text
    return dict(sorted(schemas.items()))


def _kinds(threshold: float) -> list[dict[str, Any]]:
    """What a query may ask for: by the threshold of the index, unchecked, the nearest, or containment."""
    least = {"anyOf": [{"type": "number", "minimum": threshold}, {"type": "null"}]}
    by_bands = {"measure": {"const": "jaccard"}, "nearest": {"const": False}, "exhaustive": {"const": False}}
    checked = {"exact": {"const": True}}
    contained = {"measure": {"const": "containment"}, "nearest": {"const": False}, "exhaustive": {"const": False}}
    return [
        {"properties": {**by_bands, **checked, "threshold": least}},
        {"properties": {**by_bands, "exact": {"const": False}, "threshold": {"type": "null"}}, "required": ["exact"]},
        {
            "properties": {"measure": {"const": "jaccard"}, "nearest": {"const": True}, **checked},
            "required": ["nearest"],
        },
        {"properties": {**contained, **checked}, "required": ["measure"]},
    ]


def _paths(limits: ServiceLimits) -> dict[str, Any]:
    forms = {"anyOf": [_ref("QueryText"), _ref("QueryTexts")]}
    lines = {"type": "string"}
    return {
        "/query": _operation(
            "post",
            "query",
            f"Find what is like a text, or each of several. The body has {limits.query_bytes} bytes at most.",
            {200: ("Best first.", {_JSON: {"anyOf": [_ref("Answer"), _ref("Answers")]}})},
            body={_JSON: forms},
            examples={_JSON: {"text": "the quick brown fox", "top": 3, "nearest": True}},
            problems=(*_WITH_BODY, 504),
        ),
        "/documents": {
            **_operation(
                "get",
                "listDocuments",
                "Some documents, in order of addition. A page may have fewer than its size and not be the last: it"
                " looks through 50,000 documents at most, and reads some megabytes of text at most.",
                {200: ("The page.", {_JSON: _ref("Page")})},
                parameters=_LISTING,
                problems=(422, 504),
            ),
            **_operation(
                "post",
                "addDocuments",
                "Add a document, or a stream of them, one JSON object a line. What is acknowledged is on the disk."
                f" A document, and a line, has {limits.document_bytes} bytes at most; a stream has no end but its own.",
                {
                    200: (
                        "It was replaced, skipped or is a near-duplicate; of a stream, a LineStatus for each line.",
                        {_JSON: _ref("Status"), _NDJSON: lines},
                    ),
                    201: ("It was added.", {_JSON: _ref("Status")}),
                },
                parameters=_ADDING,
                body={_JSON: _ref("Document"), _NDJSON: lines},
                examples={_JSON: _FOX, _NDJSON: json.dumps(_FOX) + "\n"},
                problems=(*_WITH_BODY, 403, 409, 504, 507),
            ),
        },
        "/documents/{id}": {
            "parameters": [_ID],
            **_operation(
                "get",
                "getDocument",
                "The document as it was added.",
                {200: ("It is there.", {_JSON: _ref("StoredDocument")})},
                problems=(404, 504),
            ),
            **_operation(
                "delete",
                "removeDocument",
                "Remove a document; the answer comes when that is on the disk.",
                {204: ("It was there and is not any more.", {})},
                problems=(403, 404, 504, 507),
            ),
        },
        "/info": _operation(
            "get", "info", "What the index is and holds.", {200: ("The index.", {_JSON: _ref("Info")})}, problems=(504,)
        ),
        "/statistics": _operation(
            "get",
            "statistics",
            "What the index holds in numbers. All postings are read for it, a second for a million documents.",
            {200: ("The numbers.", {_JSON: _ref("Statistics")})},
            problems=(504,),
        ),
        "/metrics": _operation(
            "get",
            "metrics",
            "Counts of the service, for Prometheus.",
            {200: ("The counts.", {"text/plain": {"type": "string"}})},
            problems=(504,),
        ),
        "/health": _operation(
            "get",
            "health",
            "Whether the service answers. No token is needed.",
            {200: ("It does.", {_JSON: _ref("Health")})},
            is_open=True,
        ),
        "/openapi.json": _operation(
            "get", "openapi", "This description.", {200: ("OpenAPI 3.1.", {_JSON: {"type": "object"}})}
        ),
    }


_ID = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "Any text, percent-encoded. A number and its digits are one id.",
    "schema": {"type": "string", "minLength": 1},
}
_ADDING = [
    {
        "name": "on_duplicate",
        "in": "query",
        "description": "When the id is there: an error (409), skip the new document, or replace the old one.",
        "schema": {"enum": ["error", "skip", "replace"], "default": "error"},
    },
    {
        "name": "if_new",
        "in": "query",
        "description": "Add a document only if the index holds none that is like it, nor one added a moment before.",
        "schema": {"enum": ["false", "true"], "default": "false"},
    },
]

_NUMBERS = {
    "after": "next of the page before; absent, the page is the first.",
    "size": "Most documents of the page.",
    "opening": "Characters of each text to give; 0 reads no texts.",
}
_LISTING = [
    *(
        {
            "name": name,
            "in": "query",
            "description": about,
            "schema": {"type": "integer", "minimum": least, "maximum": most}
            | ({} if absent is None else {"default": absent}),
        }
        for name, about in _NUMBERS.items()
        for least, most, absent in [PAGE_NUMBERS[name]]
    ),
    {
        "name": "prefix",
        "in": "query",
        "description": "Only documents whose id begins with this.",
        "schema": {"type": "string", "maxLength": wire.MOST_ID, "default": ""},
    },
    {
        "name": "order",
        "in": "query",
        "description": "Which come first: those added first, or those added last.",
        "schema": {"enum": list(ORDERS), "default": ORDERS[0]},
    },
]


def _operation(
    method: str,
    name: str,
    about: str,
    answers: dict[int, tuple[str, dict[str, Any]]],
    *,
    parameters: list[dict[str, Any]] | None = None,
    body: dict[str, Any] | None = None,
    examples: dict[str, Any] | None = None,
    problems: tuple[int, ...] = (),
    is_open: bool = False,
) -> dict[str, Any]:
    """One operation, under its method. ``answers`` is status to (what it says, media type to schema)."""
    told: dict[str, Any] = {"operationId": name, "summary": about}
    if is_open:
        told["security"] = []
    if parameters:
        told["parameters"] = parameters
    if body is not None:
        told["requestBody"] = {"required": True, "content": _content(body, examples)}
    every = [status for status in _BY_ANY if not (is_open and status == 401)]
    said = {status: {"description": text, "content": _content(kinds)} for status, (text, kinds) in answers.items()}
    said |= {status: _problem(status) for status in (*problems, *every)}
    told["responses"] = {str(status): said[status] for status in sorted(said)}
    return {method: told}


_HEADERS = {401: "WWW-Authenticate", 503: "Retry-After"}


def _problem(status: int) -> dict[str, Any]:
    told: dict[str, Any] = {"description": _ABOUT[status], "content": _content({_JSON: _ref("ProblemBody")})}
    if status in _HEADERS:
        told["headers"] = {_HEADERS[status]: {"schema": {"type": "string"}}}
    return told


def _content(kinds: dict[str, Any], examples: dict[str, Any] | None = None) -> dict[str, Any]:
    shown = {kind: {"example": example} for kind, example in (examples or {}).items()}
    return {kind: {"schema": schema, **shown.get(kind, {})} for kind, schema in kinds.items()}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": _REF.format(name=name)}
