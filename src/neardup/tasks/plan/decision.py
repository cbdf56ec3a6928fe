"""Banding or the exact join, as predicted: what ``exact="auto"`` asks for."""

from __future__ import annotations

from pathlib import Path

from neardup.engine.observe import Observer
from neardup.errors import InputError
from neardup.inputs.reader import Reader
from neardup.params import AUTO, RunOptions, SearchOptions, Spec
from neardup.tuning import as_exact


def decide(
    reader: Reader, spec: Spec, search: SearchOptions, run: RunOptions, observer: Observer
) -> tuple[Spec, str | None]:
    """The spec of a run, made from ``search``, and why it is so where that is left to the plan.

    The plan, which reads the inputs once, takes the exact join if it is predicted to be no slower. An interrupted run
    goes on as it began.
    """
    if search.exact != AUTO:
        return spec, None
    if run.resume and run.workdir is not None:
        from neardup.spool.manifest import Manifest

        begun = Manifest.read(Path(run.workdir)).identity["spec"]
        return as_exact(spec) if begun.get("exact", False) else spec, "as it was begun"
    if reader.value is None and not reader.is_lasting:
        raise InputError("exact 'auto' reads the inputs twice, and a pipe can be read once. Save it to a file.")
    from neardup.tasks.plan.make import choose_method  # loads what measures and predicts, for this case only

    is_exact, why = choose_method(reader, spec, run, target=search.recall, observer=observer)
    return (as_exact(spec) if is_exact else spec), why
