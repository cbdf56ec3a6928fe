"""Public names are bound when they are used: to what the type checkers see, and always to the same thing."""

from __future__ import annotations

import ast
import importlib
import inspect

import pytest

import neardup


def typed_homes() -> dict[str, str]:
    """The module that each public name is imported from under TYPE_CHECKING."""
    (block,) = [node for node in ast.parse(inspect.getsource(neardup)).body if isinstance(node, ast.If)]
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


@pytest.mark.parametrize("name", [name for name in neardup.__all__ if name != "__version__"])
def test_a_name_is_the_same_thing_however_it_is_got(name: str) -> None:
    typed = getattr(importlib.import_module(typed_homes()[name]), name)
    assert getattr(neardup, name) is typed
    assert neardup.__getattr__(name) is typed
    assert inspect.getdoc(typed)


def test_public_members_have_docstrings() -> None:
    for name in neardup.__all__:
        thing = getattr(neardup, name)
        for member, value in vars(thing).items() if inspect.isclass(thing) else ():
            if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, (property, classmethod))):
                assert inspect.getdoc(value), f"{name}.{member}"
