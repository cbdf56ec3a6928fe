"""Banding or the exact join, as predicted: what ``exact="auto"`` asks for."""

from __future__ import annotations

from neardup.engine.observe import Observer
from neardup.errors import InputError
from neardup.inputs.reader import Reader
from neardup.params import Spec
from neardup.tasks.plan.make import choose_method
from neardup.tuning import as_exact

__all__ = ["decide"]


def decide(
    reader: Reader, spec: Spec, *, target: float, threads: int, memory: int | str | None, observer: Observer
) -> tuple[Spec, str]:
    """``spec`` as it is, or by the exact join where that is predicted to be no slower; and why.

    Raises:
        InputError: the inputs cannot be read twice.
    """
    if reader.value is None and not reader.is_lasting:
        raise InputError("exact 'auto' reads the inputs twice, and a pipe can be read once. Save it to a file.")
    is_exact, why = choose_method(reader, spec, target=target, threads=threads, memory=memory, observer=observer)
    return (as_exact(spec) if is_exact else spec), why
