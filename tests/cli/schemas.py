"""JSON Schema (draft 2020-12) of dataclasses: types become types.

Only what our answers are made of is known here; of which dataclasses they are made is in ``answers``.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from neardup.params import Bands, CandidateShingle, Normalize, Screen, Shingle, Spec

DRAFT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]
AS_TEXT = (Shingle, Normalize, Bands, CandidateShingle, Screen)
"""What stands in JSON as it is typed."""
_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Any: {},
}
TEXT, WHOLE, NUMBER, FLAG = _PLAIN[str], _PLAIN[int], _PLAIN[float], _PLAIN[bool]
ID: Schema = {"type": ["string", "integer"]}
OPTIONS: Schema = {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}
"""Options by their names in Python."""


def either(*kinds: Schema) -> Schema:
    """One of several."""
    return {"anyOf": list(kinds)}


def maybe(kind: Schema) -> Schema:
    """A value or null."""
    return (
        {**kind, "type": [kind["type"], "null"]}
        if isinstance(kind.get("type"), str)
        else either(kind, _PLAIN[type(None)])
    )


def many(kind: Schema) -> Schema:
    """A list of them."""
    return {"type": "array", "items": kind}


def table(kind: Schema) -> Schema:
    """Values by names that are not known before."""
    return {"type": "object", "additionalProperties": kind}


def record(
    properties: Mapping[str, Schema], *, optional: Sequence[str] = (), title: str = "", about: str = ""
) -> Schema:
    """An object with these fields and no others; all must be there but the ``optional`` ones."""
    told = {name: text for name, text in (("title", title), ("description", about)) if text}
    required = [name for name in properties if name not in optional]
    shape = {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}
    return {**told, **shape}


class Shapes:
    """Schemas of classes; each dataclass that is met is kept once, in ``defs``."""

    def __init__(self, special: Mapping[type, Schema]) -> None:
        """``special``: schemas of classes whose JSON is not their fields."""
        self.defs: dict[str, Schema] = {}
        self._special = dict(special)

    def ref(self, name: str, shape: Schema) -> Schema:
        """Keep a schema under a name; a reference to it."""
        self.defs[name] = shape
        return {"$ref": f"#/$defs/{name}"}

    def set(self, kind: type, shape: Schema) -> None:
        """What the JSON of a class is from now on."""
        self._special[kind] = self.ref(kind.__name__, shape)

    def of(self, kind: Any) -> Schema:
        """The schema of a type."""
        if kind in self._special:
            return self._special[kind]
        if kind in _PLAIN:
            return _PLAIN[kind]
        if kind in AS_TEXT:
            return TEXT
        origin, inner = typing.get_origin(kind), typing.get_args(kind)
        if origin in (typing.Union, types.UnionType):
            return self._union(inner)
        if origin is tuple and inner[-1] is not Ellipsis:
            parts = [self.of(each) for each in inner]
            return {"type": "array", "prefixItems": parts, "items": False, "minItems": len(parts)}
        if origin is not None and issubclass(origin, Mapping):
            return table(self.of(inner[1]))
        if origin is not None and issubclass(origin, Sequence):
            return many(self.of(inner[0]))
        if isinstance(kind, type) and is_dataclass(kind):
            if kind.__name__ not in self.defs:
                self.defs[kind.__name__] = {}  # it is there while its own fields are looked at
                self.defs[kind.__name__] = record(self.fields(kind), about=_first_line(kind))
            return {"$ref": f"#/$defs/{kind.__name__}"}
        raise TypeError(f"no schema is known of {kind!r}")

    def _union(self, inner: Sequence[Any]) -> Schema:
        shapes = [self.of(each) for each in inner]
        names = [each["type"] for each in shapes if set(each) == {"type"} and isinstance(each["type"], str)]
        if len(names) == len(shapes):
            return {"type": names}
        return maybe(shapes[0]) if len(inner) == 2 and inner[1] is type(None) else either(*shapes)

    def fields(self, kind: type, *only: str, but: Sequence[str] = ()) -> dict[str, Schema]:
        """The fields of a dataclass by name, all but some of them."""
        hints = typing.get_type_hints(kind)
        names = only or [each.name for each in fields(kind)]
        return {name: self.of(hints[name]) for name in names if name not in but}


def _first_line(kind: type) -> str:
    return (kind.__doc__ or "").strip().split("\n")[0]


def spec_shape(shapes: Shapes) -> Schema:
    """What ``Spec.as_dict`` gives."""
    about = {"description": "Of the format."}, {"description": "Equal for equal specs."}
    head = {"version": {**WHOLE, **about[0]}, "id": {**TEXT, **about[1]}}
    later = [each.name for each in fields(Spec) if each.default is not inspect.Parameter.empty and _has_default(each)]
    own = shapes.fields(Spec)
    return record({**head, **own}, optional=later, about=_first_line(Spec))


def _has_default(field: Any) -> bool:
    from dataclasses import MISSING

    return field.default is not MISSING
