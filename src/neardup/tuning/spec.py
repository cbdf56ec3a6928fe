"""The spec of a run, made from its options: what was left open is chosen here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from neardup.errors import InputError
from neardup.params import (
    CONTAINMENT,
    DEFAULT_SKETCH,
    Bands,
    Normalize,
    SearchOptions,
    Shingle,
    Spec,
    check_exact,
    check_slots,
)
from neardup.tuning.choice import DEFAULT_SLOTS, choose_bands, choose_min_matches, choose_slots, recall_for_bands
from neardup.tuning.curves import promised_recall, s_curve

__all__ = ["as_exact", "make_spec"]


def make_spec(options: SearchOptions | None = None, /, **fields: Any) -> Spec:
    """Choose what the options of a search leave open.

    ``recall`` of the result is the one that the chosen slots, bands and filter give at the threshold, and 1 for the
    exact join, by which containment is always found. Where the plan is to decide (``exact="auto"``), it is banding.

    Args:
        options: what is asked for.
        fields: or its fields by name.

    Raises:
        InputError: an option is out of range, or two contradict each other.
    """
    options = options or SearchOptions(**fields)
    threshold, target, slots, bands = options.threshold, options.recall, options.slots, options.bands
    is_contained = options.measure == CONTAINMENT
    is_exact = check_exact(options.exact, options.measure) or is_contained
    if is_exact:
        if slots is not None or bands is not None or options.sketch != DEFAULT_SKETCH:
            who, other = ("containment", "another measure") if is_contained else ("the exact join", "no exact")
            raise InputError(f"{who} has no signatures. Give no slots, bands or sketch with it, or {other}.")
        slots, bands = DEFAULT_SLOTS, Bands(1, 1)  # placeholders: as_exact takes them away
    for_bands = recall_for_bands(target)
    if bands is not None:
        shape = Bands.parse(bands)
        slots = check_slots(shape.slots) if slots is None else slots
        if shape.slots > slots:
            raise InputError(
                f"bands {shape} need {shape.slots} slots, slots is {slots}. Give more slots or smaller bands."
            )
    else:
        slots = choose_slots(threshold, for_bands) if slots is None else slots
        if s_curve(threshold, slots, 1) < for_bands:
            choose_bands(threshold, slots=slots, recall=target)  # says what the best is
            raise InputError(
                f"{slots} slots reach recall {target} only just, with nothing left for the estimate filter. "
                "Give more slots or a lower recall."
            )
        shape = choose_bands(threshold, slots=slots, recall=for_bands)
    matches = choose_min_matches(threshold, slots=slots, recall=target)
    spec = Spec(
        threshold=threshold,
        recall=promised_recall(threshold, shape, slots=slots, min_matches=matches),
        shingle=Shingle.parse(options.shingle),
        normalize=Normalize.parse(options.normalize),
        sketch=options.sketch,
        slots=slots,
        bands=shape,
        seed=options.seed,
        min_matches=matches,
        crowd=options.crowd,
        collapse_exact=options.collapse_exact,
        measure=options.measure,
        verify=options.verify,
    )
    return as_exact(spec) if is_exact else spec


def as_exact(spec: Spec) -> Spec:
    """The same run by the exact join."""
    return replace(spec, recall=1.0, sketch="none", slots=0, bands=Bands(0, 0), min_matches=0, exact=True)
