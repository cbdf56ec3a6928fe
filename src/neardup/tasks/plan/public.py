"""Plan a run: choose the cheapest setting for a collection and predict the cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from neardup import params, tuning
from neardup.calls import hinted
from neardup.engine.observe import Observer, Silent
from neardup.errors import InputError
from neardup.inputs.reader import open_inputs
from neardup.params import (
    Bands,
    CandidateShingle,
    InputOptions,
    Normalize,
    Preset,
    RunOptions,
    SearchOptions,
    Shingle,
    with_preset,
)
from neardup.tasks.plan.make import SLOTS, make_plan, make_table
from neardup.tasks.plan.outcome import Plan
from neardup.watching import watched


@hinted
@watched
@with_preset
def plan(
    inputs: Any = None,
    *,
    preset: str | Preset | None = None,
    threshold: float = params.DEFAULT_THRESHOLD,
    recall: float = params.DEFAULT_RECALL,
    slots: int | None = None,
    bands: str | Bands | None = None,
    candidates_by: str | CandidateShingle | None = None,
    rule: str | None = None,
    weights: tuple[float, float] = params.DEFAULT_WEIGHTS,
    shingle: str | Shingle = params.DEFAULT_SHINGLE,
    normalize: str | Normalize = params.DEFAULT_NORMALIZE,
    sketch: str = params.DEFAULT_SKETCH,
    seed: int = params.DEFAULT_SEED,
    collapse_exact: bool = False,
    crowd: int = params.DEFAULT_CROWD,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    glob: str | None = None,
    encoding: str = "utf-8",
    boilerplate: str = "keep",
    on_bad: str = "fail",
    input_format: str | None = None,
    threads: int | None = None,
    block: int | None = None,
    memory: int | str | None = None,
    observer: Observer | None = None,
    progress: bool = False,
) -> Plan:
    """Choose slots and bands, and predict candidates, memory, disk and time before a run.

    With inputs, everything is read once and a sample of the texts is compared. The plan then chooses the setting with
    the shortest predicted time that finds a pair at the threshold with a probability of at least ``recall``. Without
    inputs, the plan shows the setting of ``find`` and the settings that the rules of the literature choose.

    Args:
        inputs: as for ``find``, or None.
        preset, threshold, recall: as for ``find``.
        slots: compare only settings with this number of slots; if None, 40, 64, 128, 256 and 512.
        bands: plan for these bands, whatever recall they promise.
        candidates_by: as for ``find``; the recall of a setting is then for pairs at the threshold of these shingles.
        rule: plan for the bands that a rule chooses: ``recall``, ``threshold``, ``divisor``, ``log`` or ``area``.
        weights: weights of the areas of false positives and false negatives, for the rule ``area``.
        shingle, normalize, sketch, seed, collapse_exact, crowd: as for ``find``.
        text, id, glob, encoding, boilerplate, on_bad, input_format, threads, block: as for ``find``.
        memory: the limit of the planned run, and of the plan itself.
        observer, progress: as for ``find``.

    Returns:
        Plan with ``chosen``, ``options`` (other settings), ``rules``, ``collection`` (figures of the texts), ``exact``
        (the exact join), ``hints`` (settings that do not fit) and ``arguments`` (for ``find`` and ``dedup``).

    Raises:
        InputError: an option, a file or a record cannot be used; the message names it and the cure.

    >>> import neardup
    >>> found = neardup.plan(threshold=0.8, slots=128)
    >>> str(found.chosen.bands), round(found.chosen.recall, 4)
    ('21x6', 0.9974)
    """
    given = locals()
    if rule is not None and bands is not None:
        raise InputError(f"rule is {rule!r} and bands is {str(bands)!r}. Give one of them.")
    search, run = SearchOptions.of(given), RunOptions.of(given)
    is_open = rule is None and bands is None
    if rule is not None:
        for_bands = tuning.recall_for_bands(search.recall)
        at = tuning.make_spec(search).banded_at
        length = slots if slots is not None else tuning.choose_slots(at, for_bands)
        bands = tuning.choose_bands(at, slots=length, recall=for_bands, rule=rule, weights=weights)
        search = replace(search, slots=length, bands=bands)
    spec = tuning.make_spec(search)
    if inputs is None:
        return replace(make_table(spec, search.recall, weights=weights), preset=search.used_preset)
    reader = open_inputs(inputs, InputOptions.of(given), item=spec.shingle.kind == "item")
    open_slots = () if not is_open else (spec.slots,) if slots is not None else sorted({*SLOTS, spec.slots})
    made = make_plan(
        reader,
        spec,
        run,
        target=search.recall,
        observer=observer or Silent(),
        open_slots=open_slots,
        weights=weights,
    )
    return replace(made, preset=search.used_preset)
