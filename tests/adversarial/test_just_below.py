"""One long text that all documents share, and so much of their own that no two are similar: every pair is just below.

Each bucket is too large to be paired up, and leaders tell nothing. The pairs that are similar must be found all the
same, and the work, as counted, must grow like the documents.
"""

from __future__ import annotations

import json
import random
from collections import Counter

import numpy as np
import pytest
from click.testing import CliRunner
from tests.oracles.results import pair_map

import neardup
from neardup.cli import main
from neardup.engine.banding import few, hot
from neardup.params import Shingle
from neardup.stages import sharing
from neardup.stages.shingle import Hasher, shingles
from neardup.types import Documents

NUMBER = 1500
PLANTED = 40


def prose(characters: int, rng: random.Random) -> str:
    """Letters that no two calls share in order."""
    return "".join(rng.choices("abcdefghijklmnopqrstuvwxyz ", k=characters))


def just_below(number: int, *, seed: int = 1) -> tuple[list[str], set[frozenset[int]]]:
    """Texts of which each two have J of about 0.78, and pairs of them that share 10 to 90 % of what is their own."""
    rng = random.Random(seed)
    shared = prose(1600, rng)
    own = [prose(225, rng) for _ in range(number)]
    pairs = []
    for n in range(PLANTED):
        a, b = 2 * n, number - 1 - 2 * n
        kept = 40 + 4 * n
        own[b] = own[a][:kept] + own[b][kept:]
        pairs.append(frozenset((a, b)))
    return [shared + text for text in own], set(pairs)


@pytest.fixture
def many(monkeypatch):
    """Every hot bucket is too much to be paired up, and large enough to be tried."""
    monkeypatch.setattr(hot, "BUDGET_NS", 1.0)
    monkeypatch.setattr(hot, "MANY", 100)
    monkeypatch.setattr(hot, "TRIALS", 8)


def truth_among(texts: list[str], pairs: set[frozenset[int]], threshold: float) -> set[frozenset[int]]:
    """Those that reach the threshold, by the sets of shingles themselves."""
    sets = [set(shingles(text, Shingle.parse("char:9"))) for text in texts]
    near = set()
    for a, b in map(tuple, pairs):
        if len(sets[a] & sets[b]) / len(sets[a] | sets[b]) >= threshold:
            near.add(frozenset((a, b)))
    return near


@pytest.mark.parametrize("on_disk", [False, True])
def test_all_pairs_at_or_above_the_threshold_are_found_among_many_just_below(many, tmp_path, on_disk):
    texts, planted = just_below(NUMBER)
    wanted = truth_among(texts, planted, 0.8)
    assert len(wanted) > PLANTED // 2
    workdir = tmp_path / "work" if on_disk else None
    result = neardup.find(texts, threshold=0.8, crowd=200, workdir=workdir, threads=2)
    assert set(pair_map(result.pairs)) == wanted
    assert result.summary.overfull == 0


def test_the_work_grows_like_the_documents(many):
    checked = []
    for number in (800, 1600):
        texts, _ = just_below(number)
        summary = neardup.find(texts, threshold=0.8, crowd=100).summary
        checked.append(summary.checked)
        assert summary.candidates < 4 * number
    assert checked[1] < 2.2 * checked[0]


def test_a_tally_that_is_too_small_costs_no_pair_and_nothing_is_kept_that_is_alone(many, monkeypatch):
    texts, planted = just_below(600)
    whole = neardup.find(texts, threshold=0.8, crowd=100)
    indexed = []
    table_of = sharing.Sharing.__post_init__

    def noted(self):
        indexed.append(self.few)
        table_of(self)

    monkeypatch.setattr(sharing.Sharing, "__post_init__", noted)
    # 135,000 shingles of their own in 131,072 cells: many seem to be shared
    monkeypatch.setattr(sharing, "MOST_BITS", 17)
    small = neardup.find(texts, threshold=0.8, crowd=100)
    assert pair_map(small.pairs) == pair_map(whole.pairs)
    assert set(pair_map(small.pairs)) == truth_among(texts, planted, 0.8)
    sample, all_of = indexed
    seemed, left = sample.tokens.size / sample.rows.size, all_of.tokens.size / all_of.rows.size
    assert left < 0.3 * seemed
    shared = sum(times for times in Counter(all_of.tokens.tolist()).values() if times > 1)
    assert shared > 0.5 * all_of.tokens.size


def test_an_index_in_blocks_gives_the_same_pairs(many, monkeypatch):
    texts, _ = just_below(600)
    whole = neardup.find(texts, threshold=0.8, crowd=100)
    monkeypatch.setattr(few, "TOKEN_BYTES", 1 << 50)
    monkeypatch.setattr(few, "BLOCK_BYTES", 40_000)
    pieces = neardup.find(texts, threshold=0.8, crowd=100)
    assert pair_map(whole.pairs) == pair_map(pieces.pairs)
    assert (whole.summary.candidates, whole.summary.checked) == (pieces.summary.candidates, pieces.summary.checked)


def test_pairs_that_are_too_many_to_check_are_given_up_and_counted(many, monkeypatch):
    monkeypatch.setattr(few, "BUDGET_NS", 0.0)
    texts, _ = just_below(600)
    rng = random.Random(2)
    parts = [prose(60, rng) for _ in range(40)]
    texts = [text[:1600] + rng.choice(parts) + text[1660:] for text in texts]
    result = neardup.find(texts, threshold=0.78, crowd=100)
    assert result.summary.overfull > 500


def test_the_command_says_the_same(many, tmp_path):
    texts, planted = just_below(NUMBER)
    source = tmp_path / "texts.jsonl"
    source.write_text("".join(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(texts)))
    done = CliRunner().invoke(main, ["find", str(source), "-o", str(tmp_path / "pairs.jsonl"), "--crowd", "200"])
    assert done.exit_code == 0, done.output
    found = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
    found = {frozenset((int(one["id_a"]), int(one["id_b"]))) for one in found}
    assert found == truth_among(texts, planted, 0.8)


def test_shingles_that_few_documents_hold_are_those_that_counting_gives():
    rng = random.Random(3)
    texts = ["".join(rng.choices("ab ", k=rng.randrange(0, 60))) for _ in range(60)]
    hasher = Hasher(Shingle.parse("char:4"), 1)
    documents = Documents.from_bytes([text.encode() for text in texts])
    rows, counts = np.arange(len(texts)), np.array([len(text) for text in texts])
    tally = sharing.Tally(1 << 20)  # so many cells that no two shingles share one
    tally.see(documents, rows, hasher)
    few_of = sharing.few_of(documents, rows, rows, counts, hasher, tally, most=20)
    sets = [set(shingles(text, Shingle.parse("char:4"))) for text in texts]
    met: dict[str, int] = {}
    for text in texts:
        for at in range(max(1, len(text) - 3) if text else 0):
            met[text[at : at + 4]] = met.get(text[at : at + 4], 0) + 1
    assert few_of.sizes.tolist() == [len(some) for some in sets]
    assert few_of.common.tolist() == [sum(met[one] > 20 for one in some) for some in sets]
    assert few_of.held.tolist() == [sum(2 <= met[one] <= 20 for one in some) for some in sets]
    pairs = {
        (int(a), int(b))
        for left, right in sharing.Sharing(few_of, 0.6).pairs(few_of, floor=1)
        for a, b in zip(left, right, strict=True)
    }
    hides = sharing.may_hide(few_of.sizes, few_of.common, 0.6)
    for b in range(len(sets)):
        for a in range(b):
            if sets[a] and len(sets[a] & sets[b]) >= 0.6 * len(sets[a] | sets[b]):
                assert (a, b) in pairs or (hides[a] and hides[b])
