"""The benchmark against labels: its scores by hand, its noise by its rule, and a whole study of a tiny collection."""

from __future__ import annotations

import itertools
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.oracles.text import shingles

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import labels
import labels_data as data
import labels_noise as noise
import labels_score as scoring
from labels import Setting
from labels_data import Collection, View, keys_of
from labels_score import Found, Score

TEXTS = [
    "the quick brown fox jumps over the lazy dog",
    "the quick brown fox jumped over the lazy dog",
    "The quick brown fox jumps over the lazy dogs!",
    "a paper on the estimation of sizes of queries",
    "a paper on estimating the sizes of queries",
    "nothing like any of the others, and longer than they are",
]
GROUPS = ["fox", "fox", "fox", "paper", "paper", "other"]


def found_of(pairs: dict[tuple[int, int], float]) -> Found:
    """Pairs of rows in the order that a search gives them."""
    keys = np.array([a << 32 | b for a, b in pairs], dtype=np.int64)
    by = np.argsort(keys)
    return Found(keys[by], np.array(list(pairs.values()))[by])


def view_of(truth: list[tuple[int, int]], *, count: int = 6, **more: object) -> View:
    keys = keys_of([a for a, _ in truth], [b for _, b in truth])
    return View("tiny", keys, data.joined(count, keys), **more)


FOUND = found_of({(0, 1): 0.9, (1, 2): 0.6, (2, 3): 0.7, (0, 5): 0.4})
TRUTH = [(0, 1), (1, 2), (3, 4)]


def test_scores_are_those_counted_by_hand():
    assert scoring.score(FOUND, view_of(TRUTH), [0.3, 0.6, 0.7, 0.71, 0.95]) == [
        Score(2, 2, 1),
        Score(2, 1, 1),
        Score(1, 1, 2),
        Score(1, 0, 2),
        Score(0, 0, 3),
    ]


def test_recall_at_a_precision_takes_all_pairs_of_a_similarity_or_none():
    found = found_of({(0, 1): 0.9, (2, 3): 0.7, (1, 2): 0.7, (3, 4): 0.6})
    view = view_of(TRUTH)
    assert [scoring.recall_at(found, view, precision) for precision in (1.0, 0.75, 0.76)] == [1 / 3, 1, 1 / 3]
    assert scoring.recall_at(found_of({(0, 5): 0.9}), view, 0.5) == 0
    assert scoring.recall_at(Found(np.zeros(0, dtype=np.int64), np.zeros(0)), view, 0.5) == 0


def test_recall_precision_and_f1():
    value = Score(2, 1, 2)
    assert (value.recall, value.precision) == (2 / 4, 2 / 3)
    assert value.f1 == pytest.approx(2 / (1 / value.recall + 1 / value.precision))
    assert (Score(0, 0, 3).recall, Score(0, 0, 3).precision, Score(0, 0, 3).f1) == (0, 1, 0)


def test_pairs_that_the_labels_say_nothing_about_do_not_count():
    side = np.array([0, 1, 0, 1, 0, 0])
    assert scoring.score(FOUND, view_of(TRUTH, side=side), [0.3]) == [Score(2, 1, 1)]
    assert scoring.score(FOUND, view_of(TRUTH, among=np.arange(6) != 3), [0.3]) == [Score(2, 1, 1)]


def test_groups_give_all_their_pairs_and_pairs_their_groups():
    keys = data.pairs_within(GROUPS)
    assert [(key >> 32, key & 0xFFFFFFFF) for key in keys.tolist()] == [(0, 1), (0, 2), (1, 2), (3, 4)]
    assert data.joined(6, keys_of([0, 2, 3], [1, 1, 4])).tolist() == data.numbered(GROUPS).tolist()


def test_the_interval_holds_the_value_and_shrinks_to_it_when_every_draw_agrees():
    groups = [row // 2 for row in range(200)]
    truth = data.pairs_within(groups)
    view = View("pairs", truth, data.numbered(groups))
    everything = Found(truth, np.ones(truth.size))
    assert scoring.interval(everything, view, 0.5, draws=50) == (1.0, 1.0)
    half = Found(truth, np.where(np.arange(truth.size) % 2 == 0, 0.9, 0.1))
    low, high = scoring.interval(half, view, 0.5)
    value = scoring.score(half, view, [0.5])[0].f1
    assert 0.5 < low < value < high < 0.8
    # recall of 100 draws has a standard error of 0.05 at one half, and F1 = 2 R / (1 + R) changes 0.89 as fast
    assert 0.5 * 4 * 0.05 * 0.89 < high - low < 1.5 * 4 * 0.05 * 0.89


def test_documents_that_are_not_drawn_count_once_in_every_draw():
    truth = keys_of([0, 1], [2, 2])
    view = View("source", truth, np.array([0, 1, data.NOT_DRAWN]), np.array([0, 0, 1]))
    assert scoring._weight(truth, view.unit, np.array([3, 4, 1])) == 7
    assert scoring._weight(keys_of([0], [1]), view.unit, np.array([3, 4, 1])) == 12


def test_the_choice_is_the_highest_threshold_near_the_best_of_its_own_shingle():
    mean = {
        Setting("char:5", "nfc", 0.4): 0.90,
        Setting("char:5", "nfc", 0.5): 0.895,
        Setting("char:5", "nfc", 0.6): 0.88,
        Setting("char:3", "nfc", 0.7): 0.899,
    }
    assert labels.choose(mean) == Setting("char:5", "nfc", 0.5)


def test_a_scan_without_errors_only_sets_the_lines_anew():
    text = " ".join(TEXTS * 5).replace("-", "")
    set_anew = noise.scan(text, 0.0, random.Random(1))
    assert max(map(len, set_anew.splitlines())) <= noise.WIDTH + 1
    assert "-\n" in set_anew
    assert set_anew.replace("-\n", "").replace("\n", " ") == text


@pytest.mark.parametrize("grade", noise.SCAN_GRADES)
def test_a_scan_has_as_many_errors_as_its_grade_says(grade: float):
    text = " ".join(TEXTS * 4)
    plain = noise.set_in_lines(text, random.Random(1))
    scanned = noise.scan(text, grade, random.Random(1))
    wrong = distance(plain, scanned)
    # an error is at most two edits (rn for m), and two next to each other may be one
    assert 0.8 * grade * len(plain) <= wrong <= 2 * grade * len(plain)


@pytest.mark.parametrize("grade", noise.EDIT_GRADES)
def test_an_edit_changes_as_much_as_its_grade_says(grade: float):
    rng = random.Random(2)
    text = "".join(chr(rng.randrange(0x4E00, 0x9000)) for _ in range(400))
    others = ["".join(chr(rng.randrange(0x4E00, 0x9000)) for _ in range(50)) for _ in range(20)]
    wrong = distance(text, noise.edit(text, grade, others, rng))
    assert 0.5 * grade * len(text) <= wrong <= grade * len(text)


def test_copies_are_the_same_for_the_same_seed_and_dealt_among_grades():
    made, again, other = (noise.edits(TEXTS, seed=seed) for seed in ("a", "a", "b"))
    assert made == again != other
    assert made.grades == [0.02, 0.05, 0.1, 0.2, 0.02, 0.05]
    assert all(text != copy for text, copy in zip(TEXTS, made.texts, strict=True))


def test_punctuation_is_changed_or_dropped():
    changed = {noise.repunctuated("他来了，\n我走。", random.Random(seed)) for seed in range(20)}
    assert changed == {"他来了,我走.", "他来了我走"}


def test_graded_copies_have_a_view_for_each_grade():
    made = data.paired("tiny", "ocr", TEXTS, noise.edits(TEXTS, seed="a"))
    assert [(view.name, view.truth.size, view.chosen) for view in made.views] == [
        ("tiny", 6, True),
        ("tiny, 2 %", 2, False),
        ("tiny, 5 %", 2, False),
        ("tiny, 10 %", 1, False),
        ("tiny, 20 %", 1, False),
    ]
    first = made.views[1]
    found = Found(made.views[0].truth, np.ones(6))
    assert scoring.score(found, first, [0.5]) == [Score(2, 0, 0)]


def test_two_releases_pair_the_files_that_changed(tmp_path: Path):
    long = "x = 1\n" * 50
    files = {"old": {"same.py": long, "a/changed.py": long + "y"}, "new": {"same.py": long, "a/changed.py": long + "z"}}
    files["old"]["gone.py"], files["new"]["a/__init__.py"] = long + "g", "tiny"
    for release, own in files.items():
        for path, text in own.items():
            (tmp_path / release / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / release / path).write_text(text, encoding="utf-8")
    made = data.releases("code", tmp_path / "old", tmp_path / "new")
    assert sorted(text.removeprefix(long) for text in made.texts) == ["", "g", "y", "z"]
    (key,) = made.views[0].truth.tolist()
    assert {made.texts[key >> 32][-1], made.texts[key & 0xFFFFFFFF][-1]} == {"y", "z"}


def test_a_study_scores_every_cell_as_comparing_all_pairs_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    cells = [(each.shingle, each.normalize) for each in (labels.RECOMMENDED["records"], labels.DEFAULT, *labels.HABITS)]
    monkeypatch.setattr(labels, "grid", lambda _: cells)
    truth = data.pairs_within(GROUPS)
    own = Collection("tiny", "records", "human", TEXTS, (View("tiny", truth, data.numbered(GROUPS)),))
    made = labels.study("records", [own], tmp_path, exact=False)
    for shingle, normalize in cells:
        sets = [shingles(text, shingle, normalize) for text in TEXTS]
        for threshold in labels.THRESHOLDS:
            near = {
                (a, b)
                for a, b in itertools.combinations(range(len(TEXTS)), 2)
                if len(sets[a] & sets[b]) / len(sets[a] | sets[b]) >= threshold
            }
            right = {(a, b) for a, b in near if GROUPS[a] == GROUPS[b]}
            expected = Score(len(right), len(near - right), truth.size - len(right))
            assert made.scores["tiny"][Setting(shingle, normalize, threshold)] == expected
    labels.report(made)
    assert "| tiny | default | char:9, nfc, 0.80 | 0.250 | 1.000 | **0.400**" in capsys.readouterr().out
    assert len(labels.as_json([made])) == len(cells) * len(labels.THRESHOLDS)

    def never(*_args: object, **_options: object) -> None:
        raise AssertionError("searched again for pairs that were kept")

    monkeypatch.setattr(labels.neardup, "find", never)
    assert labels.study("records", [own], tmp_path, exact=False).scores == made.scores


def distance(one: str, other: str) -> int:
    """Edits from one text to the other, by the textbook table."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def test_the_presets_are_held_against_the_figures_of_the_page(monkeypatch, capsys):
    known = labels.documented()
    assert known["dblp_acm", "recommended"] == 0.933
    assert known["bible_nt", "default"] == 0.119
    tiny = Collection(
        "tiny", "records", "human", TEXTS, (View("tiny", data.pairs_within(GROUPS), data.numbered(GROUPS)),)
    )
    for documented, is_kept in ((0.0, True), (1.009, True), (1.011, False)):
        monkeypatch.setattr(labels, "documented", lambda f1=documented: {("tiny", "recommended"): f1})
        assert labels.print_presets([tiny], ["records"]) is is_kept
    assert "| records | tiny |" in capsys.readouterr().out


def test_each_kind_is_measured_with_what_its_preset_stands_for():
    assert labels.RECOMMENDED["records"] == Setting("word:1", "nfc,casefold,space", 0.5)
    assert Setting("char:9", "nfc", 0.8) == labels.DEFAULT
