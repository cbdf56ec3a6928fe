"""Calls of public functions: a keyword that is not there is answered with the one that was meant."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from neardup.errors import did_you_mean

ELSEWHERE = {
    "for_": "preset",
    "settings": "preset",
    "column": "text",
    "columns": "text",
    "text_column": "text",
    "num_perm": "slots",
    "jaccard": "threshold",
    "ngram": "shingle",
    "ngram_size": "shingle",
    "n_jobs": "threads",
    "num_workers": "threads",
}
"""What other programs, and the command line, call a parameter."""
P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C")


def hinted(function: Callable[P, T]) -> Callable[P, T]:
    """Let the TypeError of an unknown keyword name the near one. A call that is right pays about a microsecond."""

    @wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> T:
        try:
            return function(*args, **given)
        except TypeError:
            known = signature(function).parameters
            unknown = next((name for name in given if name not in known), None)
            if unknown is None or any(each.kind is each.VAR_KEYWORD for each in known.values()):
                raise
            other = ELSEWHERE.get(unknown)
            hint = f" Did you mean {other!r}?" if other in known else did_you_mean(unknown, known)
            told = f"{function.__qualname__}() got an unexpected keyword argument {unknown!r}"
            raise TypeError(f"{told}.{hint}" if hint else told) from None

    return call


def hinted_methods(owner: type[C]) -> type[C]:
    """``hinted`` for every public method of a class."""
    for name, each in list(vars(owner).items()):
        if isinstance(each, classmethod):
            setattr(owner, name, classmethod(hinted(each.__func__)))
        elif callable(each) and not name.startswith("_"):
            setattr(owner, name, hinted(each))
    return owner
