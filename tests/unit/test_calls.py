"""What is called wrongly is told what was meant."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import neardup
from neardup.calls import hinted

FUNCTIONS = {name: one for name in neardup.__all__ if inspect.isfunction(one := getattr(neardup, name))}
METHODS = {
    f"Index.{name}": one for name, one in inspect.getmembers(neardup.Index, callable) if not name.startswith("_")
}


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS])
def test_a_keyword_that_is_not_there_names_the_near_one(name: str) -> None:
    function: Any = FUNCTIONS.get(name) or METHODS[name]
    of_index = {} if name in FUNCTIONS or inspect.ismethod(function) else {"self": None}
    keywords = [
        each.name for each in inspect.signature(function).parameters.values() if each.kind is not each.VAR_POSITIONAL
    ]
    meant = keywords[-1]
    if name in ("Index.pairs", "Index.clusters"):
        function, of_index, meant = getattr(neardup.Index.create(), name.partition(".")[2]), {}, "threads"
    wrong = f"{meant}x"
    if meant == "self":
        return  # it takes nothing
    with pytest.raises(TypeError) as caught:
        function(*of_index.values(), **{wrong: 1})
    called = "Index.find" if name in ("Index.pairs", "Index.clusters") else name
    assert str(caught.value) == f"{called}() got an unexpected keyword argument {wrong!r}. Did you mean {meant!r}?"


def test_the_example_of_the_users() -> None:
    with pytest.raises(TypeError) as caught:
        neardup.find(["a"], treshold=0.5)  # type: ignore[call-arg]
    assert str(caught.value) == "find() got an unexpected keyword argument 'treshold'. Did you mean 'threshold'?"
    with pytest.raises(TypeError, match=r"^find\(\) got an unexpected keyword argument 'zzzz'$"):
        neardup.find(["a"], zzzz=0.5)  # type: ignore[call-arg]


def test_other_type_errors_are_as_they_were() -> None:
    @hinted
    def plain(a: int, *, b: int = 0) -> int:
        return len(a)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        plain()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="has no len"):
        plain(3, b=1)
    assert inspect.signature(plain) == inspect.signature(plain.__wrapped__)  # type: ignore[attr-defined]


def test_signatures_and_docstrings_stay_readable() -> None:
    for one in (*FUNCTIONS.values(), *METHODS.values()):
        assert one.__doc__
        assert "args" not in inspect.signature(one).parameters
    assert (
        list(inspect.signature(neardup.figures).parameters)[:2]
        == list(inspect.signature(neardup.report).parameters)[:2]
    )


def test_what_was_cleaned_is_a_sequence_of_two() -> None:
    cleaned = neardup.dedup(["a rose is a rose", "a rose is a rose", "tulips"])
    data, removed = cleaned
    assert (len(cleaned), cleaned[0], cleaned[1], cleaned[-1]) == (2, data, removed, removed)
    assert cleaned[:] == (data, removed)
    with pytest.raises(IndexError):
        cleaned[2]
    with pytest.raises(TypeError, match=r"'text' is no part of a Cleaned, which has two: \[0\] is its data"):
        cleaned["text"]
