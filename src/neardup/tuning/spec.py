"""The spec of a run, made from its options: what was left open is chosen here."""

from __future__ import annotations

from dataclasses import replace

from neardup.errors import InputError
from neardup.params import (
    CONTAINMENT,
    DEFAULT_CROWD,
    DEFAULT_MEASURE,
    DEFAULT_NORMALIZE,
    DEFAULT_RECALL,
    DEFAULT_SEED,
    DEFAULT_SHINGLE,
    DEFAULT_SKETCH,
    DEFAULT_THRESHOLD,
    DEFAULT_VERIFY,
    Bands,
    Normalize,
    Shingle,
    Spec,
    check_measure,
    check_probability,
    check_sketch,
    check_slots,
    check_threshold,
    check_verify,
)
from neardup.tuning.choice import DEFAULT_SLOTS, choose_bands, choose_min_matches, choose_slots, recall_for_bands
from neardup.tuning.curves import promised_recall, s_curve

__all__ = ["as_exact", "make_spec"]


def make_spec(
    *,
    threshold: float = DEFAULT_THRESHOLD,
    recall: float = DEFAULT_RECALL,
    shingle: str | Shingle = DEFAULT_SHINGLE,
    normalize: str | Normalize = DEFAULT_NORMALIZE,
    sketch: str = DEFAULT_SKETCH,
    slots: int | None = None,
    bands: str | Bands | None = None,
    seed: int = DEFAULT_SEED,
    crowd: int = DEFAULT_CROWD,
    collapse_exact: bool = False,
    exact: bool = False,
    measure: str = DEFAULT_MEASURE,
    verify: str = DEFAULT_VERIFY,
) -> Spec:
    """Check the options of a run and choose what was left open; the arguments are those of ``find``.

    ``recall`` of the result is the one that the chosen slots, bands and filter give at the threshold, and 1 for the
    exact join, by which containment is always found.

    Raises:
        InputError: an option is out of range, or two contradict each other.
    """
    threshold = check_threshold(threshold)
    target = check_probability(recall, "recall")
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63:
        raise InputError(f"seed is {seed!r}. Give a whole number from 0 to 2**63 - 1.")
    if not isinstance(crowd, int) or isinstance(crowd, bool) or crowd < 2:
        raise InputError(f"crowd is {crowd!r}. Give a whole number of at least 2, such as {DEFAULT_CROWD}.")
    is_contained = check_measure(measure) == CONTAINMENT
    if exact or is_contained:
        if slots is not None or bands is not None or sketch != DEFAULT_SKETCH:
            who, other = ("containment", "another measure") if is_contained else ("the exact join", "no exact")
            raise InputError(f"{who} has no signatures. Give no slots, bands or sketch with it, or {other}.")
        slots, bands = DEFAULT_SLOTS, Bands(1, 1)  # of which nothing stays
    if slots is not None:
        check_slots(slots)
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
        shingle=Shingle.parse(shingle),
        normalize=Normalize.parse(normalize),
        sketch=check_sketch(sketch),
        slots=slots,
        bands=shape,
        seed=seed,
        min_matches=matches,
        crowd=crowd,
        collapse_exact=collapse_exact,
        verify=check_verify(verify),
    )
    if is_contained:
        spec = replace(spec, measure=measure)
    return as_exact(spec) if exact or is_contained else spec


def as_exact(spec: Spec) -> Spec:
    """The same run by the exact join."""
    return replace(spec, recall=1.0, sketch="none", slots=0, bands=Bands(0, 0), min_matches=0, exact=True)
