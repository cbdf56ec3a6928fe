"""Whether the texts of a collection fit the setting that they are searched with: hints, from a sample of the texts.

A hint says what is seen and names what to try: a preset, or another option. It changes nothing, and it is the same for
any order of the documents, any threads and any memory. The rules were held against every collection at hand;
docs/howto/settings.md says where they speak up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from neardup import tuning
from neardup.cutting import cut
from neardup.engine.kind import kind_of, quote_others
from neardup.engine.reading.collection import Collection
from neardup.engine.reading.draw import draw
from neardup.errors import InputError
from neardup.params import (
    CONTAINMENT,
    DEFAULT_MEASURE,
    DEFAULT_NORMALIZE,
    DEFAULT_RECALL,
    DEFAULT_SHINGLE,
    DEFAULT_SKETCH,
    DEFAULT_THRESHOLD,
    Normalize,
    Shingle,
    Spec,
    preset_options,
)
from neardup.stages.bands import as_numbers
from neardup.stages.shingle import Hasher
from neardup.stages.sketch import count_and_sketch
from neardup.types import I32, I64, U32, U64, Documents, Mask

SAMPLE = 500
"""Distinct texts that are looked at, and of which all pairs are."""
SEED = 0x66_69_74
"""By which they are drawn; an audit draws others."""
FEWEST = 20
"""Distinct texts below which nothing is said: so few are an example, or can be looked at."""
BEGINNING = 1000
"""Characters of a text that are looked at."""
LONGEST = 16_000
"""Bytes of a text from which it is long by any measure: more are not counted where texts are not kept."""

LETTERS_CHANGED = 5
"""Letters of a word, about, for the characters that a changed word takes part in."""
LEAST_CHANGES = 2
"""Changed words that a text of median length should be able to have at the threshold."""

LOWER = 0.2
"""Similarity from which two texts share passages: in the prose at hand unrelated ones reach 0.15 at most."""
PARTNERED = 1 / 3
"""Share of the sample that must share passages, below the threshold, for a hint."""
TIMES = 4
"""How many such pairs there must be for each one above the threshold."""
FEW_DOCUMENTS = 1000
"""Up to which a collection in which most texts share passages is rather essays of a course than versions of texts."""

MORE_SLOTS = 256
"""Longer signatures keep the promise with bands of more rows: three for two at 0.4, a tenth of the candidates."""
LONGER, LONGER_RECALL = 12, 0.95
"""Characters of a shingle that unrelated texts hardly share, and the recall at its threshold."""
LOWER_RECALL = 0.9
"""A promise that leaves a small part of the candidates."""
MANY_CANDIDATES = 5e8
"""Candidate pairs from which a run is slow: minutes of CPU time on any machine."""

SHORT, SCRIPT, CODE, PASSAGES, SLOW = "short", "script", "code", "passages", "slow"
PROTECTED, LAYOUT = "protected", "layout"
"""Kinds of hints."""


@dataclass(frozen=True, slots=True)
class Hint:
    """What does not fit, and what to try instead."""

    kind: str
    """``short``: texts too short for the shingle and threshold; ``script``: words of a script without spaces;
    ``code``: source code by characters; ``passages``: many texts share passages and few pairs reach the threshold;
    ``slow``: so many candidates that the run takes long; ``protected``: nothing is similar to what is protected;
    ``layout``: files of several kinds break lines in different ways, and the shingles have the line breaks in them."""
    text: str
    """One or two sentences."""
    preset: str | None = None
    """The preset to try, for which the options that it has are to be left out."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Where it is no preset: the options to try, by name."""

    def __str__(self) -> str:
        tried = {"preset": self.preset} if self.preset is not None else self.options
        return f"{self.text} Try {', '.join(f'{name}={value!r}' for name, value in tried.items())}."

    def as_dict(self) -> dict[str, Any]:
        """The hint as plain JSON values."""
        return {"kind": self.kind, "text": self.text, "preset": self.preset, "options": dict(self.options)}


def fit(collection: Collection, weight: I32, *, distinct: int | None = None) -> tuple[Hint, ...]:
    """Hints on a collection that was read, of which ``weight`` (int32[n]) is 0 for copies and empty documents.

    ``distinct``: texts of all, where the collection is a sample of them. A pass over the hashes of the texts, and some
    tens of milliseconds for the sample, whatever its size.
    """
    spec = collection.spec
    if spec.shingle.kind == "item" or spec.measure != DEFAULT_MEASURE:  # of containment short parts are the purpose
        return ()
    rows = draw(collection, weight, documents=SAMPLE, seed=SEED)
    if rows.size < FEWEST:
        return ()
    texts = list(_beginnings(collection, rows))
    hints = text_hints(texts, collection.counts.take(rows), spec)
    if spec.slots:
        distinct = int(np.count_nonzero(weight)) if distinct is None else distinct
        matches = matching_slots(collection.values.take(rows))
        hints = hints or passage_hints(texts, matches, spec, distinct)
        met = meeting((as_numbers(keys.take(rows)) for keys in collection.keys), rows.size)
        hints = hints + slow_hints(met, matches, spec, distinct)
    return tuple(hints)


class PassingSample:
    """A sample of texts that pass in batches and are not kept: those of the smallest hashes, whatever their order."""

    def __init__(self) -> None:
        self._prints = np.empty(0, dtype=np.uint64)
        self._texts: list[bytes] = []

    def add(self, documents: Documents, prints: U64, has_shingles: Mask) -> None:
        """Take note of normalised texts with their hashes, uint64[n]. Memory: 500 times 16 kB at most, twice."""
        bound = self._prints[-1] if self._prints.size == SAMPLE else ~np.uint64(0)
        at = np.flatnonzero(has_shingles & (prints <= bound))
        at = at[np.unique(prints[at], return_index=True)[1]][:SAMPLE]
        starts, ends = documents.offsets[at], documents.offsets[at + 1]
        spans = zip(starts.tolist(), np.minimum(ends, starts + LONGEST).tolist(), strict=True)
        texts = [*self._texts, *(documents.data[start:end].tobytes() for start, end in spans)]
        self._prints, kept = np.unique(np.concatenate((self._prints, prints[at])), return_index=True)
        self._prints, self._texts = self._prints[:SAMPLE], [texts[i] for i in kept[:SAMPLE].tolist()]

    def hints(self, spec: Spec) -> tuple[Hint, ...]:
        """What they say by themselves."""
        documents = Documents.from_bytes(self._texts)
        values = np.empty((len(documents), spec.slots), dtype=np.uint32)
        counts = np.empty(len(documents), dtype=np.int64)
        count_and_sketch(documents, Hasher(spec.shingle, spec.seed), values=values, counts=counts)
        return tuple(text_hints([beginning(documents, i) for i in range(len(documents))], np.abs(counts), spec))


def _beginnings(collection: Collection, rows: I64) -> Iterator[str]:
    """The first characters of some texts."""
    room = max(1 << 16, collection.space.budget.share(0.15))
    for some in cut(collection.texts.lengths(rows), room):
        for documents, local, _ in collection.texts.parts(rows[some]):
            yield from (beginning(documents, place) for place in local.tolist())


def beginning(documents: Documents, i: int) -> str:
    """The first characters of document ``i``."""
    first, last = int(documents.offsets[i]), int(documents.offsets[i + 1])
    return documents.data[first : min(last, first + 4 * BEGINNING)].tobytes().decode("utf-8", "replace")[:BEGINNING]


def matching_slots(values: U32) -> I64:
    """int64[m, m]: for each two texts of a sample, the slots in which their signatures agree; 0 on and below the
    diagonal."""
    m = values.shape[0]
    matches = np.zeros((m, m), dtype=np.int64)
    for i in range(m - 1):
        matches[i, i + 1 :] = np.count_nonzero(values[i] == values[i + 1 :], axis=1)
    return matches


def meeting(bands: Iterable[U64], m: int) -> Mask:
    """bool[m, m]: which two texts of a sample meet in a band; ``bands`` has the keys of all (uint64[m]) in each."""
    met = np.zeros((m, m), dtype=np.bool_)
    for keys in bands:
        met |= keys[:, None] == keys
    met &= ~np.tri(m, dtype=np.bool_)
    return met


def text_hints(texts: Sequence[str], counts: I64, spec: Spec) -> list[Hint]:
    """What the texts of a sample, normalised, say by themselves: at most one hint, which names a preset.

    ``texts`` need be beginnings only; ``counts`` (int64[m]): shingles of each whole text.
    """
    if len(texts) < FEWEST or spec.shingle.kind == "item":
        return []
    kind, k, half = spec.shingle.kind, spec.shingle.k, int(np.median(counts))
    preset = kind_of(texts).preset
    has_no_spaces = preset == "unsegmented"
    if kind == "word" and has_no_spaces:
        seen = f"The texts are in a script without spaces between words: with {spec.shingle} a word is a whole phrase."
        return _unless_used(spec, SCRIPT, preset, seen)
    # a threshold above the default is strict on purpose, and says nothing of the texts; 1 wants equal ones
    judged = replace(spec, threshold=min(spec.threshold, DEFAULT_THRESHOLD))
    changes = changes_allowed(half, judged, is_unsegmented=has_no_spaces)
    if changes < LEAST_CHANGES and spec.threshold < 1:
        unit = {"char": "characters", "word": "words", "byte": "bytes"}[kind]
        few = "one changed word takes" if changes < 1 else "two changed words take"
        seen = (
            f"The texts are short: half of them have at most {half + k - 1:,} {unit}, and with {spec.shingle} {few}"
            f" such a text below {spec.threshold:g}."
        )
        return _unless_used(spec, SHORT, preset if has_no_spaces else "articles", seen)
    are_lines = not (spec.normalize.space or spec.normalize.strip)
    if kind != "word" and preset == "code" and are_lines:
        seen = (
            f"The texts look like source code: {spec.shingle} counts brackets and line breaks, which a formatter"
            " changes, and words do not."
        )
        return _unless_used(spec, CODE, preset, seen)
    return []


def changes_allowed(shingles: int, spec: Spec, *, is_unsegmented: bool = False) -> float:
    """How many words of a text may change until it falls below the threshold, each at a place of its own.

    A changed word changes each shingle that it takes part in, c of n, so that n - c of n + c are shared: m changes
    are allowed where (n - m c) / (n + m c) is the threshold.
    """
    k, letters = spec.shingle.k, 2 if is_unsegmented else LETTERS_CHANGED
    changed = k if spec.shingle.kind == "word" else k + letters - 1
    return shingles * (1 - spec.threshold) / (1 + spec.threshold) / changed


def passage_hints(texts: Sequence[str], matches: I64, spec: Spec, distinct: int) -> list[Hint]:
    """Whether many texts of a sample share passages with another, and hardly a pair reaches the default threshold.

    Only of the defaults, which nobody chose. Messages that quote each other share passages too, and are no versions.
    ``matches`` is what ``matching_slots`` gives; ``distinct``: distinct texts of the collection.
    """
    usual = Shingle.parse(DEFAULT_SHINGLE), Normalize.parse(DEFAULT_NORMALIZE), DEFAULT_THRESHOLD, DEFAULT_SKETCH
    if (spec.shingle, spec.normalize, spec.threshold, spec.sketch) != usual:
        return []
    near = matches >= spec.threshold * spec.slots
    shared = (matches >= LOWER * spec.slots) & ~near
    pairs, reached = int(np.count_nonzero(shared)), int(np.count_nonzero(near))
    partnered = int(np.count_nonzero(shared.any(axis=0) | shared.any(axis=1)))
    if partnered < PARTNERED * len(texts) or pairs < TIMES * max(reached, 1):
        return []
    if quote_others(texts):
        return []
    of = f"the {distinct:,} texts" if len(texts) == distinct else f"{len(texts):,} texts of a sample"
    seen = (
        f"{partnered:,} of {of} share passages with another: about {pairs:,} pairs have a similarity from {LOWER:g} to"
        f" {spec.threshold:g}, and {reached:,} reach {spec.threshold:g}."
    )
    if distinct <= FEW_DOCUMENTS:
        seen += " The preset essays shows who took passages from whom; articles finds all versions of one text."
        return [Hint(PASSAGES, seen, "essays")]
    return [Hint(PASSAGES, f"{seen} The preset articles finds all versions of one text.", "articles")]


def slow_hints(met: Mask, matches: I64, spec: Spec, distinct: int) -> list[Hint]:
    """Whether the bands will meet so many pairs below the threshold that the run takes long.

    Pairs above it are left out: where there are many, they make crowds, which are listed as stars.
    """
    pairs, all_met = distinct * (distinct - 1) / 2, int(np.count_nonzero(met & (matches < spec.banded_at * spec.slots)))
    share = all_met / max(met.shape[0] * (met.shape[0] - 1) / 2, 1)
    return slow_hint(share * pairs, pairs, spec)


def slow_hint(candidates: float, pairs: float, spec: Spec) -> list[Hint]:
    """The hint that so many candidates, of all pairs, take long, if they do."""
    if candidates < MANY_CANDIDATES:
        return []
    seen = (
        f"At {spec.threshold:g} about {candidates / 1e6:,.0f} million candidate pairs are to be expected,"
        f" {100 * candidates / pairs:.2g} % of all: they grow with the square of the documents, and the run takes long."
    )
    return [Hint(SLOW, seen, None, _with_fewer(spec))]


def unlike_protected(spec: Spec) -> Hint:
    """The hint where no document is similar to a protected one: quotations in longer texts are found in other ways."""
    seen = (
        f"No document has a similarity of {spec.threshold:g} to a protected one. Protected texts that are quoted inside"
        " longer documents are found by containment, or by shared n-grams (overlap gpt3)."
    )
    return Hint(PROTECTED, seen, None, {"measure": CONTAINMENT})


def layout_hints(kinds: set[str], spec: Spec) -> list[Hint]:
    """The hint where documents of several ``kinds`` (``.pdf``, ``.txt``) are compared line breaks and all."""
    if len(kinds) < 2 or spec.normalize.space or spec.normalize.strip or spec.shingle.kind not in ("char", "byte"):
        return []
    seen = (
        f"The files are of several kinds ({', '.join(sorted(kinds))}), which break lines in different ways, and"
        f" {spec.shingle} counts each line break."
    )
    return [Hint(LAYOUT, seen, None, {"normalize": str(replace(spec.normalize, space=True))})]


def _with_fewer(spec: Spec) -> dict[str, Any]:
    """Options with which fewer pairs meet: bands of more rows, else candidates by longer shingles, else more alike."""
    higher = {"threshold": min(round(spec.threshold + 0.2, 2), 1.0)}
    if spec.candidates_by is not None:
        return higher
    if spec.slots >= MORE_SLOTS and spec.shingle.kind == "char" and 2 * spec.shingle.k <= LONGER:
        return {"candidates_by": f"char:{LONGER}", "recall": LONGER_RECALL}
    tries: tuple[dict[str, Any], ...] = ({"slots": MORE_SLOTS}, {"recall": LOWER_RECALL})
    for each in (*tries, {**tries[0], **tries[1]}):
        recall = tuning.recall_for_bands(each.get("recall", DEFAULT_RECALL))
        with suppress(InputError):  # no bands of so few slots reach it
            bands = tuning.choose_bands(spec.threshold, slots=each.get("slots", spec.slots), recall=recall)
            if bands.rows > spec.bands.rows:
                return each
    return higher


def _unless_used(spec: Spec, kind: str, preset: str, text: str) -> list[Hint]:
    """The hint, unless what it names is what was searched with."""
    own = preset_options(preset)
    wanted = Shingle.parse(own["shingle"]), Normalize.parse(own["normalize"]), own["threshold"]
    return [] if (spec.shingle, spec.normalize, spec.threshold) == wanted else [Hint(kind, text, preset)]
