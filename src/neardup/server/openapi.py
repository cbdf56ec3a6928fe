"""``/openapi.json``: the routes, their types and limits, as OpenAPI 3.1.

Schemas come from the types in ``wire``, with the limits of this service written into them. A test holds the operations
against the routes of ``app``, another the answers against this.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from neardup._version import __version__
from neardup.params import ON_DUPLICATE
from neardup.server import wire
from neardup.server.limits import ServiceLimits
from neardup.server.parameters import ORDERS, PAGE_NUMBERS

_TYPES = [
    kind
    for kind in vars(wire).values()
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind not in (msgspec.Struct, wire.Nothing)
]
_REF = "#/components/schemas/{name}"
_JSON, _NDJSON, _BYTES = "application/json", "application/x-ndjson", "application/octet-stream"
_BY_ANY = (401, 421, 500, 503)
"""Problems of every operation; without a token there is no 401, and none of ``/health``."""
_ABOUT = {
    400: "The JSON cannot be read.",
    401: "The token is missing or wrong.",
    403: "The token, or the index, is for reading only.",
    404: "There is no such document.",
    408: "The body did not arrive in time.",
    409: "The id is there already.",
    413: "The body is too large.",
    415: "The content type is another.",
    421: "The service was called by a name that is not its machine's.",
    422: "A value cannot be used; its field is named.",
    500: "The service failed; its log tells more.",
    503: "Too much is at work: try again after the seconds of Retry-After.",
    504: "It was not done in time.",
    507: "The disk is full, or cannot be written.",
}
_FOX = {"id": "fox", "text": "the quick brown fox jumps over the lazy dog"}
_MARK = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
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
    fields = {name: _without_default(field) for name, field in fields.items()}
    shared = {name: field for name, field in fields.items() if name not in ("text", "texts", "passages")}
    texts = {"type": "array", "items": text, "maxItems": limits.texts}
    query |= _kinds(threshold)
    one = {"text": text, **shared, "passages": fields["passages"]}
    for name, properties in (("QueryText", one), ("QueryTexts", {"texts": texts, **shared})):
        schemas[name] = {**query, "title": name, "properties": properties, "required": [next(iter(properties))]}
    schemas["Document"]["properties"]["text"] = text
    for name in ("marks", "query_marks"):  # generators know no arrays whose items have a place each
        schemas["Found"]["properties"][name]["items"] = _MARK
    return dict(sorted(schemas.items()))


def _without_default(field: dict[str, Any]) -> dict[str, Any]:
    """A field that may be absent, its default in words: openapi-typescript takes one with a default for required."""
    told = {name: value for name, value in field.items() if name != "default"}
    if field.get("default") is not None:
        told["description"] = f"{field['description']} Default: {json.dumps(field['default'])}."
    return told


def _kinds(threshold: float) -> dict[str, Any]:
    """What goes together in a query: the nearest, containment, unchecked candidates, all or any of what the threshold
    finds.

    Conditions leave the properties what they are, so programs that make clients of them make one type of each form.
    """
    least = {"anyOf": [{"type": "number", "minimum": threshold}, {"type": "null"}]}
    always: dict[str, Any] = {"exact": {"const": True}}
    alone: dict[str, Any] = {"exhaustive": {"const": False}}
    several: dict[str, Any] = {"any": {"const": False}}
    both = {"properties": {"any": {"const": True}}, "required": ["any", "top"]}
    return _if(
        {"nearest": {"const": True}},
        {"properties": {"measure": {"const": "jaccard"}, **always, **several}},
        _if(
            {"measure": {"const": "containment"}},
            {"properties": {**always, **alone, **several}},
            _if(
                {"exact": {"const": False}},
                {"properties": {"threshold": {"type": "null"}, **alone, **several}},
                {"properties": {"threshold": least, **alone}, "not": both},
            ),
        ),
    )


def _if(given: dict[str, Any], then: dict[str, Any], otherwise: dict[str, Any]) -> dict[str, Any]:
    return {"if": {"properties": given, "required": list(given)}, "then": then, "else": otherwise}


def _paths(limits: ServiceLimits) -> dict[str, Any]:
    forms = {"anyOf": [_ref("QueryText"), _ref("QueryTexts")]}
    lines = {"type": "string", "format": "binary"}
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
                "addDocument",
                "Add a document. What is acknowledged is on the disk."
                f" The body has {limits.document_bytes} bytes at most. As {_NDJSON} it is what /stream takes.",
                {
                    200: ("It was replaced, skipped or is a near-duplicate.", {_JSON: _ref("Status")}),
                    201: ("It was added.", {_JSON: _ref("Status")}),
                },
                parameters=_ADDING,
                body={_JSON: _ref("Document")},
                examples={_JSON: _FOX},
                problems=(*_WITH_BODY, 403, 409, 504, 507),
            ),
            **_operation(
                "delete",
                "removeOldDocuments",
                "Remove all documents that were added longer ago than an age, or that have some columns, in one step.",
                {200: ("They are gone, and that is on the disk.", {_JSON: _ref("RemovedDocuments")})},
                parameters=_REMOVING,
                problems=(403, 422, 504, 507),
            ),
        },
        "/stream": _operation(
            "post",
            "streamDocuments",
            "Add a stream of documents, each a JSON object (Document) on a line of its own; for each comes a line back"
            " (LineStatus), in order, as soon as it is on the disk. Read the answer while you send. A line has"
            f" {limits.document_bytes} bytes at most; a stream has no end but its own. {_NDJSON} is taken, and given"
            " back, just as well.",
            {200: ("A LineStatus for each line.", {_BYTES: lines})},
            parameters=_ADDING,
            body={_BYTES: lines},
            examples={_BYTES: json.dumps(_FOX) + "\n"},
            problems=(403, 408, 415, 422),
        ),
        "/compact": _operation(
            "post",
            "compact",
            "Merge all postings into one file, without those of removed documents, and give free room on the disk back."
            " Queries get faster, and are answered meanwhile; so are changes.",
            {200: ("It is done.", {_JSON: _ref("Compacted")})},
            body={_JSON: {"type": "object", "additionalProperties": False}},
            examples={_JSON: {}},
            problems=(*_WITH_BODY, 403, 504, 507),
        ),
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
        "/ready": _operation(
            "get",
            "ready",
            "Whether requests are answered: the index can be read, and the service does not stop. No token is needed.",
            {200: ("They are.", {_JSON: _ref("Health")})},
            problems=(504,),
            is_open=True,
        ),
        "/openapi.json": _operation(
            "get", "openapi", "This description.", {200: ("OpenAPI 3.1.", {_JSON: {"type": "object"}})}
        ),
    }


def _parameter(name: str, about: str, schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A parameter in the address; ``more`` are further facts of it."""
    return {"name": name, "in": "query", "description": about, "schema": schema, **more}


_ID = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "Any text, percent-encoded. A number and its digits are one id.",
    "schema": {"type": "string", "minLength": 1},
}
_ADDING = [
    _parameter(
        "on_duplicate",
        "When the id is there: an error (409), skip the new document, or replace the old one.",
        {"type": "string", "enum": list(ON_DUPLICATE), "default": ON_DUPLICATE[0]},
    ),
    _parameter(
        "if_new",
        "Add a document only if the index holds none that is like it, nor one added a moment before.",
        {"type": "boolean", "default": False},
    ),
]
_SCALAR = {"type": ["string", "number", "boolean", "null"]}
_FILTER = _parameter(
    "where",
    "Only documents whose columns have all these values.",
    {
        "type": "string",  # not an object: generators of clients know no parameters that are JSON
        "contentMediaType": _JSON,
        "contentSchema": {"type": "object", "minProperties": 1, "additionalProperties": _SCALAR},
    },
    example=json.dumps({"tenant": "a"}),
)
_REMOVING = [
    _parameter(
        "older_than",
        "The age: a number and s, min, h, d or w. Documents of unknown age stay. Give this or where.",
        {"type": "string", "pattern": "^[1-9][0-9]{0,7}(s|min|h|d|w)$"},
        example="30d",
    ),
    _parameter(
        "dry_run",
        "Remove nothing, and say how many would go. For older_than.",
        {"type": "boolean", "default": False},
    ),
    _FILTER,
]
_NUMBERS = {
    "after": "next of the page before; absent, the page is the first.",
    "size": "Most documents of the page.",
    "opening": "Characters of each text to give; 0 reads no texts.",
}
_LISTING = [
    *(
        _parameter(
            name,
            about,
            {"type": "integer", "minimum": least, "maximum": most} | ({} if absent is None else {"default": absent}),
        )
        for name, about in _NUMBERS.items()
        for least, most, absent in [PAGE_NUMBERS[name]]
    ),
    _parameter(
        "prefix",
        "Only documents whose id begins with this.",
        {"type": "string", "maxLength": wire.MOST_ID, "default": ""},
    ),
    _parameter(
        "order",
        "Which come first: those added first, or those added last.",
        {"type": "string", "enum": list(ORDERS), "default": ORDERS[0]},
    ),
    _FILTER,
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
