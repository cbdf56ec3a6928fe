"""The parts of ``neardup.tune`` against slow twins: cells, the model, the work sample, the pool."""

from __future__ import annotations

import math
import os
import random
import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from neardup.engine.observe import Silent
from neardup.inputs.names import Provenance
from neardup.inputs.reader import open_inputs
from neardup.params import InputOptions
from neardup.tasks.tune import named
from neardup.tasks.tune.cells import Cells, product
from neardup.tasks.tune.dialogue import Dialogue, represented, strata_of, work_sample
from neardup.tasks.tune.grid import THRESHOLDS, Setting, settings_for, spaced_settings, unsegmented_settings
from neardup.tasks.tune.model import ABOVE, BINS, WRONG, Features, falling, fit, settled
from neardup.tasks.tune.named import NamedDocuments
from neardup.tasks.tune.pool import PARTNERS, Pool, make_pool, with_pairs
from neardup.tasks.tune.sampling import DRAWN_BY, DrawnTexts, draw_texts
from neardup.types import Documents

WORDS = ["ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple", "oak", "pine", "rowan", "spruce", "yew"]


def planted(groups: int, seed: int, *, length: int = 12) -> tuple[list[str], list[int]]:
    """Texts in groups of one to three versions, of which each changes some words; and the group of each."""
    rng = random.Random(seed)
    texts, group = [], []
    for number in range(groups):
        base = [rng.choice(WORDS) + str(rng.randrange(40)) for _ in range(length)]
        for _ in range(rng.randrange(1, 4)):
            own = [word if rng.random() > 0.15 else rng.choice(WORDS) for word in base]
            texts.append(" ".join(own))
            group.append(number)
    return texts, group


def test_cells_count_what_a_loop_over_all_pairs_counts():
    rng = np.random.default_rng(1)
    similarity = rng.choice([0.0, 0.05, 0.3, 0.5, 0.80, 0.85, 1.0], size=(60, 2)).astype(np.float32)
    weight, is_duplicate = rng.uniform(1, 5, 60), rng.random(60) < 0.4
    settings = spaced_settings()[:2]
    cells = Cells.of(settings, np.array([0.3, 0.05]), similarity, weight, 7.0)
    assert [tuple(x) for x in zip(cells.setting.tolist(), cells.threshold.tolist(), strict=True)] == [
        (k, t) for k, floor in enumerate((0.3, 0.05)) for t in THRESHOLDS if t >= floor
    ]
    members = cells.members(similarity)
    every = float(weight[is_duplicate].sum())
    for c in range(len(cells)):
        found = true = 7.0
        for p in range(60):
            is_found = round(float(similarity[p, cells.setting[c]]), 4) >= round(float(cells.threshold[c]), 4)
            assert bool(members[c, p]) == is_found
            found += weight[p] if is_found else 0.0
            true += weight[p] if is_found and is_duplicate[p] else 0.0
        assert cells.found[c] + 7.0 == pytest.approx(found)
        expected = 2 * true / (found + every + 7.0)
        got = cells.f1(np.array([c]), np.array([[true - 7.0]]), np.array([every]))
        assert got[0, 0] == pytest.approx(expected)


def slow_density(
    weights: list[float], rows: list[list[float]], means: list[float], said: list[bool], wrong: float, trust: float
) -> float:
    """Logarithm of the posterior density, number by number."""
    total = -0.5 * sum(w * w for w in weights)
    for row, mean, answer in zip(rows, means, said, strict=True):
        odds = mean + sum(a * b for a, b in zip(row, weights, strict=True))
        probability = 1 / (1 + math.exp(-odds))
        heard = wrong + (1 - 2 * wrong) * probability
        total += trust * math.log(heard if answer else 1 - heard)
    return total


@pytest.mark.parametrize(("wrong", "trust"), [(0.0, 1.0), (0.06, 1.0), (0.06, 0.5)])
def test_the_fit_is_where_climbing_by_small_steps_ends(wrong, trust):
    rng = np.random.default_rng(2)
    values, mean = rng.normal(size=(9, 3)) * 2, rng.normal(size=9)
    said = np.array([True, False, True, True, False, False, True, False, True])
    found = fit(values, mean, said, wrong=wrong, trust=trust).weights.tolist()
    given = values.tolist(), mean.tolist(), said.tolist(), wrong, trust
    climbed, step = [0.0, 0.0, 0.0], 0.5
    best = slow_density(climbed, *given)
    while step > 1e-6:
        tries = [[w + (d if i == j else 0) for j, w in enumerate(climbed)] for i in range(3) for d in (step, -step)]
        top = max(tries, key=lambda each: slow_density(each, *given))
        if slow_density(top, *given) > best:
            climbed, best = top, slow_density(top, *given)
        else:
            step /= 2
    assert slow_density(found, *given) == pytest.approx(best, abs=1e-4)
    assert found == pytest.approx(climbed, abs=0.02)


def shares_of_yes(answers: int, *, is_settled: bool) -> tuple[float, float]:
    """Probability of a pair by the posterior's draws, and by summing over a grid of weights, after so many yes to it.

    One weight, of prior standard deviation 5; draws of the normal approximation alone, or moved.
    """
    values, mean, said = np.full((answers, 1), 5.0), np.zeros(answers), np.ones(answers, dtype=np.bool_)
    part, rng, draws = fit(values, mean, said), np.random.default_rng(3), 4000
    weights = part.drawn(rng.normal(size=(1, draws)))
    if is_settled:
        weights = settled(weights, values, np.zeros((answers, draws)), np.ones((answers, 1)), 1.0, rng)
    grid = np.linspace(-6, 6, 4001)
    density = [math.exp(slow_density([w], values.tolist(), mean.tolist(), said.tolist(), WRONG, 1.0)) for w in grid]
    exact = float(np.average(1 / (1 + np.exp(-5 * grid)), weights=density))
    return float((1 / (1 + np.exp(-5 * weights[0]))).mean()), exact


def test_draws_of_the_weights_are_of_the_posterior_and_do_not_contradict_answers_that_agree():
    """4,000 draws of a probability with a standard deviation below 0.2: 5 standard errors are 0.016. Seed 3.

    Without the chain the approximation gives 6 times yes a probability that is off by more than that.
    """
    got, exact = shares_of_yes(6, is_settled=True)
    assert abs(got - exact) < 0.016
    got, exact = shares_of_yes(6, is_settled=False)
    assert abs(got - exact) > 0.016  # the test can see


def test_duplicates_become_rarer_below_the_best_threshold_however_many_pairs_there_are():
    place = np.concatenate([np.linspace(0, 0.4, 400), np.linspace(0.4, 1, 60)])
    similarity = np.repeat(place[:, None] ** 2, 3, axis=1)
    weight = np.where(place < 0.4, 1000.0, 1.0)
    features = Features.of(similarity, weight)
    probability = np.where(place < 0.4, 0.01, 0.95)[:, None].astype(np.float32)
    lowered = falling(features.amount, probability)[:, 0]
    assert lowered[place > 0.5] == pytest.approx(probability[place > 0.5, 0])
    bins = np.minimum((place * BINS).astype(int), BINS - 1)
    count = [float(weight[bins == at] @ lowered[bins == at]) for at in range(BINS)]
    for at in range(int(0.35 * BINS)):
        assert count[at] <= np.mean(count[at + 1 : at + 1 + ABOVE]) * 1.001
    assert weight @ probability[:, 0] > 3000  # it had something to lower
    assert weight @ lowered < 150


def test_many_pairs_of_a_similarity_speak_against_each_of_them():
    similarity = np.repeat(np.linspace(0.1, 1, 100)[:, None] ** 2, 2, axis=1)
    even, crowded = np.ones(100), np.where(np.arange(100) < 30, 1000.0, 1.0)
    at = Features.of(similarity, even), Features.of(similarity, crowded)
    lower = at[0].mean(24.0) - at[1].mean(24.0)
    assert lower[:15] == pytest.approx(math.log(1000), abs=0.5)
    assert lower[60:] == pytest.approx(0, abs=0.1)


def test_work_samples_stand_for_all_pairs_and_keep_the_rare_ones():
    rng = np.random.default_rng(5)
    mean = np.concatenate([rng.uniform(0, 0.2, 5000), rng.uniform(0.2, 1, 60)])
    value, stratum = np.sqrt(mean), strata_of(mean, np.ones(mean.size))
    totals = []
    for seed in range(300):
        rows, stands_for = work_sample(stratum, size=200, rng=np.random.default_rng([6, seed]))
        assert rows.size == np.unique(rows).size <= 200
        assert stands_for.sum() == pytest.approx(mean.size)
        assert (stands_for[rows >= 5000] <= 20).all()
        totals.append(stands_for @ value[rows])
    assert abs(np.mean(totals) - value.sum()) < 5 * np.std(totals) / math.sqrt(300)


def test_pairs_that_are_known_stand_for_themselves_and_the_drawn_ones_for_the_others():
    """2,000 seeds, 5 standard errors. That known pairs are often duplicates biases nothing; taking them beside the
    sample as it was would, which it sees. Seed 7."""
    chooser = np.random.default_rng(7)
    stratum = chooser.integers(3, size=400)
    truth = chooser.random(400) < 0.2 + 0.1 * stratum
    known = np.flatnonzero(chooser.random(400) < np.where(truth, 0.5, 0.05))
    rightly, beside = [], []
    for seed in range(2000):
        rng = np.random.default_rng([8, seed])
        drawn = np.concatenate([rng.choice(np.flatnonzero(stratum == s), 20, replace=False) for s in range(3)])
        rows = np.concatenate((drawn, np.setdiff1d(known, drawn)))
        amount = represented(stratum, rows, 60, known)
        assert amount.sum() == pytest.approx(400)
        assert (amount[np.isin(rows, known)] == 1).all()
        rightly.append(amount @ truth[rows])
        before = np.bincount(stratum)[stratum[drawn]] / 20
        beside.append(before @ truth[drawn] + truth[rows[60:]].sum())
    error = 5 * np.std(rightly) / math.sqrt(2000)
    assert abs(np.mean(rightly) - truth.sum()) < error
    assert abs(np.mean(beside) - truth.sum()) > error


def test_where_every_drawn_pair_is_known_they_go_on_standing_for_the_others():
    stratum, rows = np.zeros(10, dtype=np.int64), np.array([0, 1, 7])
    assert represented(stratum, rows, 2, rows).tolist() == [5, 5, 0]
    assert represented(stratum, np.arange(10), 2, np.arange(10)).tolist() == [1] * 10


def test_pairs_that_only_teach_have_their_similarities_and_stand_for_nothing():
    texts, _ = planted(110, 7)
    more = [texts[0] + " and more", "nothing of this is anywhere else"]
    pool = make_pool(Documents.from_texts(texts), spaced_settings(), seed=1)
    blobs = [text.encode() for text in (*texts, *more)]
    known = int(pool.left[0]) << 32 | int(pool.right[0])
    keys = np.array([known, len(texts), len(texts) + 1])  # with text 0: one that is like it, and one that is not
    own = with_pairs(pool, blobs.__getitem__, keys)
    assert own.rows_of(keys) == {known: 0, len(texts): len(pool)}
    assert own.counted == len(pool) == len(own) - 1
    sets = [[slow_set(text, each) for text in (texts[0], more[0])] for each in pool.settings]
    assert own.similarity[-1] == pytest.approx([len(a & b) / len(a | b) for a, b in sets], abs=1e-6)
    assert own.weight[-1] == 0
    before, after = Dialogue(pool, 1), Dialogue(own, 1)
    assert np.array_equal(after.rows, before.rows)
    after.learn(np.array([len(pool)]), [True])
    assert after.weight.sum() == pytest.approx(before.weight.sum())
    assert not np.array_equal(after.shares(8)[:-1], before.shares(8))


def slow_set(text: str, setting: Setting) -> set[str]:
    """Shingles of a text of plain ASCII, by the definition."""
    if "casefold" in setting.normalize:
        text = text.lower()
    if "punct" in setting.normalize:
        text = re.sub(r"[^\w\s]", "", text)
    if "space" in setting.normalize:
        text = " ".join(text.split())
    if "strip" in setting.normalize:
        text = "".join(text.split())
    kind, k = setting.shingle.split(":")
    parts = re.findall(r"\w+", text) if kind == "word" else list(text)
    return {" ".join(parts[i : i + int(k)]) for i in range(max(1, len(parts) - int(k) + 1))}


def test_a_pool_has_every_pair_above_a_floor_with_its_similarity_under_each_setting():
    texts, _ = planted(110, 7)
    assert len(texts) > 200  # else all pairs are taken, and nothing is joined
    settings = (DRAWN_BY, Setting("word:2", "nfc"), Setting("char:3", "nfkc,casefold,punct,strip"))
    pool = make_pool(Documents.from_texts(texts), settings, seed=1)
    rows = {(a, b): i for i, (a, b) in enumerate(zip(pool.left.tolist(), pool.right.tolist(), strict=True))}
    sets = [[slow_set(text, each) for text in texts] for each in settings]
    for a in range(len(texts)):
        for b in range(a + 1, len(texts)):
            slow = [len(own[a] & own[b]) / len(own[a] | own[b]) for own in sets]
            if (a, b) in rows:
                assert pool.similarity[rows[a, b]] == pytest.approx(slow, abs=1e-6)
            else:
                assert all(value < floor for value, floor in zip(slow, pool.floors, strict=True))
    assert 0 < len(pool) < len(texts) * (len(texts) - 1) / 2


def test_a_pool_is_the_same_for_any_threads():
    documents = Documents.from_texts(planted(110, 7)[0])
    pools = [make_pool(documents, spaced_settings(), seed=1, threads=threads) for threads in (1, 2, 7)]
    for name in ("left", "right", "similarity", "weight", "floors"):
        one, *others = (getattr(each, name).tobytes() for each in pools)
        assert all(other == one for other in others), name


@pytest.mark.parametrize(
    "texts",
    [
        [f"every word but one is the same in all of these texts, and that is number {i}" for i in range(400)],
        [f"{i:05d}" for i in range(400)],
        [" ".join(f"w{i * 7919 % 4001}" for i in range(40_000)), *(f"w{i} w{i + 1} w{i + 2}" for i in range(300))],
    ],
    ids=["near-identical", "five characters", "one huge"],
)
def test_a_pool_is_bounded_by_partners_whatever_the_texts(texts):
    pool = make_pool(Documents.from_texts(texts), spaced_settings(), seed=1)
    for k, floor in enumerate(pool.floors):
        above = int(np.count_nonzero(pool.similarity[:, k] >= np.float32(floor)))
        assert above <= 1.2 * PARTNERS * len(texts) / 2  # the floor is known from PILOT random pairs


def drawn(texts: list[str], *, seed: int, documents: int, threads: int = 1) -> DrawnTexts:
    """A sample of a list."""
    tasks = open_inputs(texts, InputOptions()).tasks(threads)
    return draw_texts(tasks, Provenance(), seed=seed, threads=threads, observer=Silent(), documents=documents)


def test_pairs_of_a_sample_stand_for_those_of_the_collection():
    """40 seeds, 5 standard errors. If documents were drawn apart, a pair would stand for 1 / r^2, which it sees."""
    texts, group = planted(400, 8)
    sets = [slow_set(text, DRAWN_BY) for text in texts]
    truth = sum(group[a] == group[b] for a in range(len(texts)) for b in range(a + 1, min(a + 3, len(texts))))
    got, apart = [], []
    for seed in range(40):
        own = drawn(texts, seed=seed, documents=200)
        assert own.share < 1
        assert len(own.documents) <= 200
        weights = [
            (own.weigh(np.array([i]), np.array([j]), np.array([len(sets[a] & sets[b]) / len(sets[a] | sets[b])]))[0])
            for i, a in enumerate(own.rows.tolist())
            for j, b in enumerate(own.rows.tolist()[i + 1 : i + 3], i + 1)
            if group[a] == group[b]
        ]
        got.append(sum(weights))
        apart.append(len(weights) / own.share**2)
    error = 5 * np.std(got) / math.sqrt(40)
    assert abs(np.mean(got) - truth) < error
    assert abs(np.mean(apart) - truth) > error


def test_a_sample_is_the_same_for_any_order_and_threads_and_counts_copies():
    texts, _ = planted(200, 9)
    texts += [texts[0]] * 5 + ["", " "]
    own, other = drawn(texts, seed=1, documents=60), drawn(texts[::-1], seed=1, documents=60, threads=3)
    blobs = [{x.documents.blob(i): int(x.copies[i]) for i in range(len(x.documents))} for x in (own, other)]
    assert blobs[0] == blobs[1]
    assert own.share == other.share
    whole = drawn(texts, seed=1, documents=5000)
    assert whole.share == 1
    counts = Counter(text for text in texts if text.strip())
    assert own.equal_pairs == whole.equal_pairs == sum(math.comb(count, 2) for count in counts.values()) >= 15
    assert whole.copies[0] == texts.count(texts[0])


def test_of_named_documents_the_text_is_known_whether_it_was_drawn_or_not():
    texts, _ = planted(200, 9)
    texts += [texts[0], "", " "]
    tasks = open_inputs(dict(enumerate(texts)), InputOptions()).tasks(2)
    pairs = [(str(i), str(j)) for i in (0, 3, len(texts) - 3, len(texts) - 2) for j in (9, 40, 100, 5000)]
    own = draw_texts(
        tasks, Provenance(), seed=1, threads=2, observer=Silent(), named=NamedDocuments.of(pairs), documents=60
    )
    assert len(own.documents) <= 60
    assert 0 < len(own.others) < 6
    assert set(own.places) == {str(i) for i in (0, 3, 9, 40, 100, len(texts) - 3, len(texts) - 2)}
    assert own.places[str(len(texts) - 2)] == -1  # it has no text
    for id, place in own.places.items():
        assert place < 0 or own.text(place) == texts[int(id)]
    assert own.places["0"] == own.places[str(len(texts) - 3)]
    assert own.key_of(("0", "5000")) is None
    rows = np.concatenate((own.rows, own.other_rows))
    assert own.key_of(("3", "9")) in {a << 32 | b for a in range(rows.size) for b in range(rows.size) if a < b}


def test_texts_of_named_documents_are_bounded(monkeypatch):
    monkeypatch.setattr(named, "PAIRS", 3)
    monkeypatch.setattr(named, "BYTES", 10)
    pairs = [(f"{i:03}", f"{i + 1:03}") for i in range(0, 40, 2)]
    own, other = NamedDocuments.of(pairs), NamedDocuments.of(pairs[::-1])
    assert own.kept == other.kept
    assert len(own.ids) == 40
    assert len(own.kept) == 6
    for i, id in enumerate(sorted(own.ids)):
        own.add(id, (i, i), i, b"four")
    assert set(own.prints) == own.ids
    assert len(own.texts) == 2


def test_scripts_without_spaces_are_tried_by_characters_only():
    assert settings_for(["春眠不觉晓处处闻啼鸟", "夜来风雨声花落知多少"]) == unsegmented_settings()
    assert settings_for(["a rose is a rose"]) == spaced_settings()
    assert not any(each.shingle.startswith("word") for each in unsegmented_settings())
    assert DRAWN_BY in unsegmented_settings()
    assert DRAWN_BY in spaced_settings()


def test_a_pool_of_no_texts_is_empty():
    pool = make_pool(Documents.from_texts([]), spaced_settings(), seed=1)
    assert isinstance(pool, Pool)
    assert len(pool) == 0


@pytest.mark.parametrize(
    ("m", "k", "n"), [(1, 1, 1), (0, 5, 3), (5, 0, 3), (40, 797, 48), (9, 70_000, 2), (3, 50, 9000)]
)
def test_products_are_those_of_numpy(m, k, n):
    rng = np.random.default_rng(m)
    left, right = rng.normal(size=(m, k)), rng.normal(size=(k, n))
    np.testing.assert_allclose(product(left, right), left @ right, atol=1e-9)
    np.testing.assert_allclose(product(left.sum(axis=0), right), left.sum(axis=0) @ right, atol=1e-9)
    assert product(left.astype(np.float32), right.astype(np.float32)).dtype == np.float32


OTHERS_AT_WORK = """
import os
import threading
import time
import numpy as np
from neardup.tasks.tune.cells import product


def others():
    # processor time of each other thread, in nanoseconds, when all of them sleep
    tasks = [f"/proc/self/task/{each}" for each in os.listdir("/proc/self/task")]
    tasks.remove(f"/proc/self/task/{threading.get_native_id()}")
    while not all(open(f"{task}/stat").read().rpartition(")")[2].split()[0] == "S" for task in tasks):
        time.sleep(0.01)
    return {task: open(f"{task}/schedstat").read().split()[0] for task in tasks}


rng = np.random.default_rng(0)
left, right = rng.random((456, 797), dtype=np.float32), rng.random((797, 48), dtype=np.float32)
begin = others()
for _ in range(50):
    product(left, right)
    product(left[0], right)
after = others()
left @ right
print(len(begin), after != begin, others() != after)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="only Linux tells the time of each thread")
def test_products_wake_no_other_thread():
    env = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}  # tests have one
    done = subprocess.run([sys.executable, "-c", OTHERS_AT_WORK], env=env, capture_output=True, text=True, check=True)
    threads, ours, those_of_blas = done.stdout.split()
    if threads == "0":
        pytest.skip("BLAS has one thread here")
    assert (ours, those_of_blas) == ("False", "True")
