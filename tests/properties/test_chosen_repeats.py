"""Which repeated windows count: groups, least numbers, another collection and templates, held against brute force."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import chosen_repeats as plain
from tests.properties.test_repeats import collections
from tests.unit.repeating import BAD_KEY, rows_of, segments_of

from neardup.engine.repeats.choice import Choice
from neardup.stages.repeats.policies import POLICIES, find_cuts
from neardup.stages.repeats.segments import IGNORED, Segments

EXAMPLES = settings(max_examples=100)
FEW = settings(max_examples=10)
LONGEST_PERIOD = 32
Asked = tuple[list[bytes], int, dict[str, Any]]


def chooser(inputs: int, others: int, how: dict[str, Any]) -> Callable[[int], Choice]:
    """What the engine is told, by what the oracle is told."""
    names = how.get("groups")
    known = {name: number for number, name in enumerate(dict.fromkeys(names or [None]))}
    groups = np.array([known[name] for name in names or ()], dtype=np.int32)
    sizes = [names.count(name) for name in known] if names else [inputs]
    share = Fraction(how.get("min_share") or 0)
    least = [max(how.get("min_docs", 1), 2 if share else 1, math.ceil(share * size)) for size in sizes]
    is_across = how.get("against") is not None
    count = how.get("min_count") or (1 if is_across else 2)

    def choose(documents: int) -> Choice:
        return Choice(inputs, inputs + others, is_across, count, groups, np.array(least, dtype=np.int64))

    return choose


def found_by(blobs: Sequence[bytes], span: int, how: dict[str, Any], **more: Any) -> Segments:
    others, templates = list(how.get("against") or ()), list(how.get("templates") or ())
    choose = chooser(len(blobs), len(others), how)
    return segments_of([*blobs, *others, *templates], span, choose=choose, **more)


def check(blobs: Sequence[bytes], span: int, found: Segments, how: dict[str, Any]) -> plain.Chosen:
    """Every window that counts is in one segment, with what is true of it; those of templates are in ignored ones."""
    wanted = plain.chosen(blobs, span, **how)
    every, counted, ignored = [*blobs, *(how.get("against") or ()), *(how.get("templates") or ())], set(), set()
    foreign = len(blobs)
    for document, start, end, kind, source, at, least, most, documents in rows_of(found):
        inside = [(document, i) for i in range(start, end - span + 1)]
        assert every[document][start : start + span] == every[source][at : at + span]
        if every[document][start:end] != every[source][at : at + end - start]:  # of a short period, and foreign
            text = every[document][start:end]
            assert source >= foreign
            assert any(text[period:] == text[:-period] for period in range(1, LONGEST_PERIOD + 1))
        seen = ignored if kind == IGNORED else counted
        assert not seen.intersection(inside)
        seen.update(inside)
        if kind == IGNORED:
            assert source >= foreign + len(how.get("against") or ())
            continue
        truth = [wanted.counted[each] for each in inside]
        assert {each.kind for each in truth} == {kind}
        assert (min(each.places for each in truth), max(each.places for each in truth)) == (least, most)
        assert max(each.documents for each in truth) == documents
        if how.get("against") is not None:
            assert foreign <= source < foreign + len(how["against"])
        else:
            assert source < foreign
            assert (source, at) == (document, start) if kind == plain.FIRST else (source, at) < (document, start)
            if how.get("groups"):
                assert how["groups"][source] == how["groups"][document]
    assert counted == set(wanted.counted)
    assert ignored == wanted.ignored
    return wanted


@st.composite
def choices(draw: st.DrawFn) -> Asked:
    """Documents that share pieces, templates and another collection that have pieces of them, and what is asked."""
    blobs, span = draw(collections()), draw(st.integers(16, 24))
    random = Random(draw(st.integers(0, 1 << 30)))
    blobs.append(bytes(random.choices(draw(st.sampled_from([b"ab", b"abcdefgh"])), k=6 * span)))
    blobs += [piece * 2 for piece in pieces(blobs, span, random)]
    how: dict[str, Any] = {}
    if draw(st.booleans()):
        how["templates"] = pieces(blobs, span, random)
    kind = draw(st.sampled_from(["against", "groups", "plain"]))
    if kind == "against":
        how["against"] = pieces([*blobs, *how.get("templates", [])], span, random)
    if kind == "groups":
        how["groups"] = random.choices("xyz", k=len(blobs))
    least = draw(st.sampled_from(["", "min_count", "min_docs", "min_share", "min_count and min_docs"]))
    if "min_count" in least:
        how["min_count"] = draw(st.integers(2, 6))
    if "min_docs" in least:
        how["min_docs"] = draw(st.integers(1, 3))
    if "min_share" in least:
        how["min_share"] = draw(st.sampled_from(["0.05", "0.4", "0.5", "0.75"]))
    return blobs, span, how


def pieces(blobs: Sequence[bytes], span: int, random: Random) -> list[bytes]:
    """One to three pieces of some documents, most of them longer than a window."""
    found = []
    for _ in range(random.randint(1, 3)):
        blob = random.choice([blob for blob in blobs if len(blob) >= span])
        begin = random.randint(0, max(0, len(blob) - span))
        found.append(blob[begin : begin + random.randint(span - 1, 4 * span)])
    return found


@given(choices())
@EXAMPLES
def test_every_window_that_counts_is_in_one_segment_and_no_other_window_is(asked: Asked):
    blobs, span, how = asked
    check(blobs, span, found_by(blobs, span, how), how)


@given(choices(), st.integers(1, 3), st.sampled_from([None, BAD_KEY]))
@FEW
def test_disk_threads_and_hashes_change_nothing_of_a_choice(asked: Asked, threads: int, key: Any):
    blobs, span, how = asked
    with tempfile.TemporaryDirectory() as folder:
        filed = found_by(blobs, span, how, threads=threads, step=1, folder=folder, key=key)
    assert rows_of(filed) == rows_of(found_by(blobs, span, how))


@given(choices(), st.sampled_from(sorted(POLICIES)))
@FEW
def test_a_policy_leaves_what_it_should_of_chosen_windows(asked: Asked, policy: str):
    blobs, span, how = asked
    gone = gone_by(find_cuts(found_by(blobs, span, how), policy))
    left = [bytes(c for j, c in enumerate(blob) if (d, j) not in gone) for d, blob in enumerate(blobs)]
    assert left == plain.left_by(blobs, span, policy, plain.chosen(blobs, span, **how))


@given(choices())
@FEW
def test_every_window_that_counts_still_stands_at_its_first_place(asked: Asked):
    blobs, span, how = asked
    gone = gone_by(find_cuts(found_by(blobs, span, how), "first"))
    wanted = plain.chosen(blobs, span, **how)
    kept = [place for place, window in wanted.counted.items() if window.kind == plain.FIRST] + [*wanted.ignored]
    for document, i in kept:
        assert not gone.intersection((document, j) for j in range(i, i + span))


@given(collections(), st.integers(16, 30), st.data())
@FEW
def test_a_template_changes_nothing_where_it_does_not_stand(blobs: list[bytes], span: int, data: st.DataObject):
    template = data.draw(st.sampled_from(blobs))
    plainly, ignoring = found_by(blobs, span, {}), found_by(blobs, span, {"templates": [template]})
    places = {template[i : i + span] for i in range(len(template) - span + 1)}

    def windows(found: Segments) -> dict[tuple[int, int], tuple[int, bytes]]:
        return {
            (document, i): (kind, blobs[document][i : i + span])
            for document, start, end, kind, *_ in rows_of(found)
            for i in range(start, end - span + 1)
            if kind != IGNORED
        }

    assert windows(ignoring) == {at: each for at, each in windows(plainly).items() if each[1] not in places}


def gone_by(cuts: Any) -> set[tuple[int, int]]:
    return {
        (int(document), i)
        for document, start, end in zip(cuts.document, cuts.start, cuts.end, strict=True)
        for i in range(start, end)
    }
