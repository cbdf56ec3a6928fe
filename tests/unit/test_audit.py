"""What an audit counts: crowds, exact copies, false pairs, two collections, and what it says of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from neardup import InputError, tuning
from neardup.inputs.reader import open_inputs
from neardup.params import RunOptions
from neardup.session import Run
from neardup.tasks.audit.outcome import judge, shown
from neardup.tasks.audit.public import audit, audit_search
from neardup.tasks.audit.statistics import Evidence, expected_recall
from neardup.types import Pairs

BASE = "it was the best of times, it was the worst of times, it was the age of wisdom"
FAMILY = [f"{BASE} {word}" for word in ("one", "two", "three", "four", "five", "six")]


def audited(inputs, *, change=None, documents=1000, **options):
    """An audit of a search whose pairs ``change`` has been at."""
    spec = tuning.make_spec(**options)
    with Run(open_inputs(inputs), spec, RunOptions(threads=1)) as run:
        search = run.search()
        if change is not None:
            change(search)
        return audit_search(run, search, documents=documents)


def test_copies_count_as_one_text_and_empty_documents_not_at_all():
    done = audit([*FAMILY, *FAMILY, "", "  ", "unlike"], threshold=0.7, shingle="char:4")
    assert done.documents == done.sampled == 8  # two blanks make a text of one shingle
    assert done.pairs == done.found == 15
    assert (done.recall, done.recall_low, done.recall_high) == (1.0, 1.0, 1.0)
    assert done.missed.num_rows == 0
    assert not done.is_broken


def test_a_pair_of_another_similarity_is_false_and_breaks_the_promise():
    def change(search):
        search.pairs.add(np.array([0]), np.array([6]), np.array([0.9]))

    done = audited([*FAMILY, "unlike"], change=change, threshold=0.7, shingle="char:4")
    assert (done.false_pairs, done.listed) == (1, 16)
    assert done.precision == pytest.approx(15 / 16)
    assert done.is_broken
    assert done.verdict.startswith("broken: 1 of the pairs found")


def test_pairs_of_two_documents_in_crowds_are_left_out():
    texts = [f"{BASE} {i}" for i in range(30)]
    done = audit([*texts, "unlike"], threshold=0.7, shingle="char:4", crowd=5)
    assert done.crowd_documents == 30
    assert (done.pairs, done.recall, done.false_pairs) == (0, None, 0)
    assert done.listed == 29
    assert done.verdict.startswith("nothing to say")
    assert not done.is_broken


def test_the_exact_join_is_promised_everything_and_one_miss_breaks_it():
    assert audited(FAMILY, threshold=0.7, shingle="char:4", exact=True).theory == 1.0

    def change(search):
        kept = list(search.pairs.pieces())
        search.pairs.drop()
        search.pairs = type(search.pairs)("verified", len(FAMILY), search.space, part=0.15)
        for piece in kept:
            search.pairs.add(piece.left[1:], piece.right[1:], piece.similarity[1:])

    done = audited(FAMILY, change=change, threshold=0.7, shingle="char:4", exact=True)
    assert (done.pairs, done.found, done.chance) == (15, 14, 0.0)
    assert done.is_broken
    assert done.missed.to_pylist() == [{"id_a": 0, "id_b": 1, "similarity": pytest.approx(0.93, abs=0.05)}]


def test_between_two_collections_only_pairs_across_are_true():
    def change(search):
        search.split_row = 3

    done = audited(FAMILY, change=change, threshold=0.7, shingle="char:4", exact=True)
    assert done.pairs == 9


def test_bins_hold_all_pairs_once_and_the_threshold_as_typed():
    grid = np.array([0.8, 0.82, 0.86, 0.9, 0.94, 0.98, 0.99, 1.0])
    rows = np.arange(grid.size)
    spec = tuning.make_spec(threshold=0.8)
    hit = np.ones(grid.size, dtype=np.bool_)
    measured = Evidence.of(Pairs(rows, rows + 100, grid), hit, rows, 1000, spec)
    bins = measured.bins(1.0)
    assert [each.pairs for each in bins] == [1, 1, 0, 1, 0, 1, 0, 1, 0, 2, 1]
    assert (bins[0].low, bins[-1].low, bins[-1].high) == (0.8, 1.0, 1.0)
    assert [each.low for each in bins[1:]] == [each.high for each in bins[:-1]]


def test_at_a_threshold_of_one_there_is_one_bin():
    done = audit(["ab ab", "ab ab ab", "cd"], threshold=1.0, shingle="word:1")
    assert [(each.low, each.high, each.pairs) for each in done.bins] == [(1.0, 1.0, 1)]


def test_the_promise_is_the_curve_less_what_filter_and_screen_lose():
    spec = tuning.make_spec(threshold=0.8)
    expected = expected_recall(np.array([0.8, 0.9, 1.0]), spec)
    assert expected[0] == pytest.approx(spec.recall)
    assert np.all(np.diff(expected) > 0)
    assert expected[2] == 1.0


@pytest.mark.parametrize("documents", [[], [""], ["alone"]])
def test_where_there_is_no_pair_there_is_nothing_to_say(documents):
    done = audit(documents)
    assert (done.recall, done.recall_low, done.recall_high, done.precision) == (None, 0.0, 1.0, None)
    assert done.verdict.startswith("nothing to say")


def test_near_copies_that_are_missed_together_widen_the_interval():
    pairs, size = 300, 10
    rows = np.repeat(np.arange(pairs // size), size)
    true = Pairs(rows, 1000 + np.arange(pairs), np.full(pairs, 0.85))
    spec = tuning.make_spec(threshold=0.8)
    together = (rows % 5) != 0
    apart = np.arange(pairs) % 5 != 0
    low, high, effect = Evidence.of(true, together, np.unique(rows), 10**6, spec).interval()
    assert effect > 8
    narrow_low, narrow_high, alone = Evidence.of(true, apart, np.unique(rows), 10**6, spec).interval()
    assert alone < 1.2
    assert high - low > 2.5 * (narrow_high - narrow_low)


def test_a_sample_of_everything_is_the_recall_itself():
    rows = np.arange(50)
    true = Pairs(rows, rows + 50, np.full(50, 0.9))
    measured = Evidence.of(true, rows > 4, np.arange(100), 100, tuning.make_spec(threshold=0.8))
    assert measured.interval()[:2] == (0.9, 0.9)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (1.0, "100 %"), (0.99995, "99.995 %"), (1 - 1e-9, "> 99.9999 %"), (1e-9, "< 0.0001 %")],
)
def test_a_share_is_never_rounded_to_all_or_none(share, text):
    assert shown(share) == text


def test_a_verdict_says_why():
    assert judge(90, 100, (0.8, 0.9), 0.99, 1e-9, 0)[1]
    assert "p = 1e-09" in judge(90, 100, (0.8, 0.9), 0.99, 1e-9, 0)[0]
    assert not judge(99, 100, (0.9, 1.0), 0.99, 0.5, 0)[1]


def test_the_figures_are_plain_json():
    done = audit(FAMILY, threshold=0.7, shingle="char:4")
    plain = json.loads(json.dumps(done.as_dict()))
    assert "missed" not in plain
    assert plain["bins"][0]["low"] == 0.7
    assert repr(done).startswith("<neardup.Audit: kept: 15 of 15")


@pytest.mark.parametrize(("documents", "seed"), [(0, 1), (True, 1), (2.5, 1), (10, -1), (10, 2**63)])
def test_a_sample_that_cannot_be_drawn_is_refused(documents, seed):
    with pytest.raises(InputError, match=r"documents is|sample_seed is"):
        audit(FAMILY, documents=documents, sample_seed=seed)


def test_documents_too_long_for_the_limit_are_named(monkeypatch):
    from neardup.engine.check import TooLargeError
    from neardup.tasks.audit import public as module

    def refuse(*args, **how):
        raise TooLargeError(np.array([0, 1]), 10**9)

    monkeypatch.setattr(module, "find_exact_partners", refuse)
    with pytest.raises(InputError, match="the documents 0 and 1 are too long"):
        audited(FAMILY, threshold=0.7)
