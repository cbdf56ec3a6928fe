"""What a plan says of a cluster: beside what runs do there, and its own figures beside each other."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.spark.conftest import MEMORY
from tests.spark.inprocess import InProcess

import neardup
from neardup import tuning
from neardup.engine.space import Budget
from neardup.errors import InputError
from neardup.params import Bands, InputOptions, RunOptions, SearchOptions
from neardup.spark import buckets, copies, pieces, search
from neardup.spark.run import ClusterRun
from neardup.spark.storage import Storage
from neardup.stages.numbering import most_documents
from neardup.tasks.find import open_across
from neardup.tasks.plan import cluster
from neardup.tasks.plan.beside import break_even, grown, warnings_of
from neardup.tasks.plan.cluster import Pieces, Shape, predict_cluster
from neardup.tasks.plan.costs import Profile, Setting, Speeds, predict

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
import spark_on_paper  # noqa: E402

ABSTRACTS = ROOT / "examples" / "abstracts.jsonl"
SPEEDS = Speeds(1e-9, 1e-7, {128: (2e-9, 1e-6)}, 1e-9, 2e-8, 15e-9)
DEFAULT = Setting(128, Bands(21, 6), 81, 0.998)
SHAPE = Shape(64, 4_000_000_000)
MACHINE = {"budget": Budget(17 << 30, 16 << 30), "threads": 2}


def a_profile(documents: int = 1_000_000, **changes) -> Profile:
    """Each text is as near to a tenth of another one, at 0.9; a tenth are copies."""
    pairs = np.zeros(513)
    pairs[460] = 0.1 * documents
    partnered = np.zeros(513)
    partnered[:461] = 0.2 * documents
    whole = {
        "threshold": 0.8, "documents": documents, "distinct": documents * 9 // 10, "bytes": 300 * documents,
        "kept_bytes": 0, "long_documents": 0, "id_bytes": 20 * documents, "copies": documents // 10,
        "copy_pairs": documents // 10, "copied": documents // 10, "shingles": 290 * documents, "slots": 512,
        "pairs": pairs, "squares": pairs, "pair_shingles": pairs * 580, "partnered": partnered, "scale": 1.0,
        "document_pairs": 0.1 * documents, "crowds": 0, "crowd_texts": 0.0, "crowd_documents": 0.0,
    }  # fmt: skip
    return Profile(**{**whole, **changes})


def predicted(profile: Profile, shape: Shape = SHAPE, cut: Pieces | None = None) -> cluster.ClusterEstimate:
    return predict_cluster(profile, SPEEDS, DEFAULT, cut or Pieces.even(profile.bytes), shape)


def stage(found: cluster.ClusterEstimate, name: str) -> cluster.StageCost:
    return next(each for each in found.stages if each.name == name)


def test_the_sizes_of_tasks_are_those_of_the_engine() -> None:
    assert search.PART_KEYS == cluster.PART_KEYS
    assert copies.PART_PRINTS == cluster.PART_PRINTS
    assert pieces.PARTS_TEXT == cluster.PARTS_TEXT
    assert pieces.SCATTERED == cluster.SCATTERED
    assert buckets.RANGES == cluster.RANGES


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """The abstracts in four files, one in eight twice, and one in six a second time with another ending."""
    draw, folder = random.Random(3), tmp_path / "in"
    folder.mkdir()
    texts = [json.loads(line)["text"] for line in ABSTRACTS.read_text(encoding="utf-8").splitlines()]
    texts += [draw.choice(texts) for _ in range(len(texts) // 8)]
    texts += [f"{draw.choice(texts)} A few words more." for _ in range(len(texts) // 6)]
    for number in range(4):
        lines = (json.dumps({"id": f"doc-{i}", "text": texts[i]}) for i in range(number, len(texts), 4))
        (folder / f"{number}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_a_plan_for_a_cluster_is_what_happens(collection: Path, tmp_path: Path, monkeypatch) -> None:
    planned = neardup.plan(collection, engine="spark", cores=4, slots=128, bands="21x6", threads=1)
    cost = planned.chosen.cluster
    sizes: dict[str, int] = {}

    def measured(storage: Storage) -> None:
        files = (path for path in Path(storage.root).rglob("*") if path.is_file())
        sizes["workdir"] = sum(path.stat().st_size for path in files)

    monkeypatch.setattr(Storage, "remove", measured)
    here, spec = InProcess(), tuning.make_spec(SearchOptions())
    how = {"cluster": here, "storage": Storage(str(tmp_path / "work")), "worker_memory": MEMORY}
    with ClusterRun(
        open_across(collection, None, InputOptions(), item=False), spec, RunOptions(threads=1), **how
    ) as it:
        it.find("star").result()
        known = it.work.rows.size
    assert list(dict.fromkeys(here.stages)) == [
        each.name for each in cost.stages if each.name not in ("start", "cluster", "write")
    ]
    for name, sent in here.sent.items():
        assert 0.5 < stage(cost, name).shuffled / sent < 2, name
    assert stage(cost, "read").tasks == 4
    assert (stage(cost, "names").tasks, stage(cost, "keys").partitions, stage(cost, "prints").partitions) == (8, 1, 2)
    assert 0.5 < cost.known.expected / known < 2
    assert 0.5 < cost.workdir.expected / sizes["workdir"] < 2
    assert planned.better_engine == "local"
    assert planned.as_dict()["cluster"]["better"] == "local"


def test_more_cores_take_less_time_and_no_less_processor_time() -> None:
    few, many = (predicted(a_profile(10**9), Shape(cores, 4 << 30)) for cores in (16, 256))
    assert many.seconds.expected < few.seconds.expected / 2
    assert many.cpu_seconds.expected >= few.cpu_seconds.expected
    assert [each.shuffled for each in many.stages] == [each.shuffled for each in few.stages]
    for found in (few, many):
        for each in (found.known, found.shuffled, found.workdir, found.driver_memory, found.seconds):
            assert 0 < each.low <= each.expected <= each.high


def test_a_key_is_nine_bytes_and_what_copies_stand_for_twelve_and_heads_come_on_top() -> None:
    profile = a_profile(100_000_000)
    keys = stage(predicted(profile), "keys")
    pure = 21 * (9 * 90_000_000 + 12 * 10_000_000)
    assert keys.tasks == 448  # 30 GB in pieces of 64 MiB
    assert keys.partitions == 1 + 21 * 100_000_000 // 8_000_000
    assert keys.shuffled - pure == keys.tasks * keys.partitions * (200 + 8 * 21)


def test_past_the_ranges_partitions_grow_and_so_does_the_worker() -> None:
    small, large = (predicted(a_profile(n), cut=Pieces(1000, 300.0 * n, 1.0)) for n in (10**10, 10**11))
    assert stage(small, "keys").partitions < stage(large, "keys").partitions == 65_536
    assert large.worker_memory > small.worker_memory


def test_one_large_piece_holds_up_all_cores() -> None:
    profile = a_profile(10**8)
    even, uneven = Pieces(448, 3e10, 3e10 / 448), Pieces(448, 3e10, 1.5e10)
    reading = [stage(predicted(profile, cut=cut), "read").seconds for cut in (even, uneven)]
    assert reading[1] > 20 * reading[0]
    told = list(warnings_of(predicted(profile, cut=uneven), DEFAULT, uneven, SHAPE, MACHINE["budget"]))
    assert any("one piece of the input has 50%" in each for each in told)
    assert not any("piece" in each for each in warnings_of(predicted(profile), DEFAULT, even, SHAPE, MACHINE["budget"]))


def test_a_collection_that_is_grown_by_one_is_the_same_and_pairs_of_any_two_grow_squared() -> None:
    profile = a_profile()
    profile.pairs[3] = 1000.0
    assert predicted(grown(profile, 1.0)) == predicted(profile)
    large = grown(profile, 10.0)
    assert (large.documents, large.copies, large.copied) == (10_000_000, 1_000_000, 100_000 * 10)
    assert large.pairs[460] == pytest.approx(10 * profile.pairs[460])
    assert large.pairs[3] == pytest.approx(100 * profile.pairs[3])
    assert Pieces.even(1e9).grown(10).count == 150
    assert Pieces.even(1e6).grown(10).count == 1
    assert Pieces(2, 4e9, 3e9).grown(10) == Pieces(20, 4e10, 3e9)


def test_at_the_break_even_both_take_the_same_time() -> None:
    profile, cut = a_profile(), Pieces.even(3e8)
    even = break_even(profile, SPEEDS, DEFAULT, cut, SHAPE, **MACHINE)
    assert not even.is_limit
    assert even.bytes == pytest.approx(300 * even.documents)

    def times(documents: float) -> tuple[float, float]:
        large = grown(profile, documents / profile.documents)
        there = predicted(large, cut=cut.grown(documents / profile.documents)).seconds.expected
        return predict(large, SPEEDS, DEFAULT, **MACHINE).total_seconds, there

    here, there = times(even.documents)
    assert here == pytest.approx(there, rel=0.05)
    here, there = times(even.documents / 2)
    assert here < there
    here, there = times(even.documents * 2)
    assert here > there


def test_a_cluster_of_no_more_cores_pays_where_one_machine_takes_no_more() -> None:
    even = break_even(a_profile(), SPEEDS, DEFAULT, Pieces.even(3e8), Shape(2, 4 << 30), **MACHINE)
    assert even.is_limit
    assert even.documents == pytest.approx(0.9 * (16 << 30) / 24, rel=0.03)  # 24 bytes each that no limit can spare
    assert break_even(a_profile(0), SPEEDS, DEFAULT, Pieces.even(0), SHAPE, **MACHINE) is None


def test_what_the_driver_and_a_core_cannot_hold_is_said() -> None:
    small = Budget(500_000_000, 250_000_000)

    def told(
        profile: Profile, shape: Shape = SHAPE, driver: Budget = MACHINE["budget"], cut: Pieces | None = None
    ) -> str:
        cut = cut or Pieces.even(profile.bytes)
        return " ".join(warnings_of(predicted(profile, shape, cut), DEFAULT, cut, shape, driver))

    assert told(a_profile(10**8)) == ""
    assert "--memory (memory=) is 500.0 MB" in told(a_profile(10**8), driver=small)
    assert "the driver can number the pairs of 1.29 billion" in told(a_profile(10**10))
    assert most_documents(22) // 10**7 == 129
    assert "Give executors more memory" in told(a_profile(10**8), Shape(64, 1_000_000_000))
    assert "is read in 3 tasks, so that 61 of 64 cores" in told(a_profile(10**8), cut=Pieces(3, 3e10, 1e10))


def test_crowds_are_work_of_the_driver() -> None:
    crowded = a_profile(10**8, crowds=3, crowd_texts=1e6, crowd_documents=1e6)
    found, none = predicted(crowded), predicted(a_profile(10**8))
    assert stage(found, "crowds").seconds > 1.0
    assert not any(each.name == "crowds" for each in none.stages)
    assert found.driver_memory.expected > none.driver_memory.expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cores": 4}, "Give --engine spark"),
        ({"memory_per_core": "2GB"}, "Give --engine spark"),
        ({"engine": "spark"}, "with --cores"),
        ({"engine": "spark", "cores": 0}, "at least 1"),
        ({"engine": "spark", "cores": True}, "at least 1"),
        ({"engine": "spark", "cores": 2, "memory_per_core": "much"}, "memory_per_core is 'much'"),
        ({"engine": "yarn", "cores": 2}, "known are local, spark"),
        ({"engine": "spark", "cores": 2, "sketch": "permutation"}, "--sketch permutation: a cluster does not do this"),
    ],
)
def test_what_a_cluster_is_not_is_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        neardup.plan(ABSTRACTS, **given)


def test_a_plan_for_a_cluster_is_one_for_files() -> None:
    with pytest.raises(InputError, match="is one for a collection"):
        neardup.plan(engine="spark", cores=2)
    with pytest.raises(InputError, match="cannot be read by the workers of a cluster"):
        neardup.plan(["a text", "another"], engine="spark", cores=2)


def test_an_empty_collection_has_a_plan_for_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text('{"text": ""}\n')
    planned = neardup.plan(tmp_path / "none.jsonl", engine="spark", cores=2, threads=1)
    assert planned.better_engine == "local"
    assert planned.chosen.cluster.known.expected == 0


def test_a_plan_for_one_machine_says_nothing_of_a_cluster() -> None:
    planned = neardup.plan(ABSTRACTS, slots=128, bands="21x6", threads=1)
    assert (planned.cluster, planned.chosen.cluster, planned.better_engine) == (None, None, "local")
    assert planned.as_dict()["cluster"] is None
    assert "cluster" not in planned.as_dict()["chosen"]
    replaced = replace(planned.chosen, cluster=predicted(a_profile()))
    assert replaced.total_seconds == replaced.cluster.seconds.expected


def test_the_tables_of_the_page_are_those_of_the_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "howto" / "spark.md").read_text(encoding="utf-8")
    papers = [
        spark_on_paper.sized(documents, size, share=1.0, piece=None)
        for documents in (1e9, 1e11)
        for size in (300, 5000)
    ]
    spark_on_paper.print_table(spark_on_paper.rows(papers, ""))
    spark_on_paper.print_break_even()
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(rows) == 25
    missing = [row for row in rows if row not in page]
    assert not missing, f"copy what benchmarks/spark_on_paper.py prints to docs/howto/spark.md: {missing}"
