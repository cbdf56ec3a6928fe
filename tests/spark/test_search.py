"""A search by the stages of a cluster gives what one machine gives: pairs, clusters, crowds, counts, hints."""

from __future__ import annotations

import json
import random
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.adversarial.test_footers import crawl
from tests.spark.conftest import Find, assert_equal
from tests.spark.inprocess import InProcess

from neardup import tuning
from neardup.engine.banding import hot
from neardup.errors import InputChanged, InputError
from neardup.params import InputOptions, RunOptions, SearchOptions
from neardup.screening import choose_screen
from neardup.spark.copies import Groups
from neardup.spark.run import ClusterRun
from neardup.spark.storage import Storage
from neardup.tasks.find import open_across

WORDS = [f"{a}{b}{c}" for a in "bdfgklmn" for b in "aeiou" for c in "lmnrst"]


def family(rng: random.Random, size: int, words: int = 40, changes: int = 2) -> list[str]:
    """Versions of one text."""
    text = rng.choices(WORDS, k=words)
    versions = []
    for _ in range(size):
        other = list(text)
        for _ in range(rng.randrange(changes + 1)):
            other[rng.randrange(words)] = rng.choice(WORDS)
        versions.append(" ".join(other))
    return versions


def collection(seed: int, families: list[int], single: int = 60) -> list[str]:
    """Families of near-duplicates among texts that are alone, with copies and empty texts, in any order."""
    rng = random.Random(seed)
    texts = [text for size in families for text in family(rng, size)]
    texts += [" ".join(rng.choices(WORDS, k=rng.randrange(5, 60))) for _ in range(single)]
    texts += [*rng.choices(texts, k=len(texts) // 5), "", " ", "one"]
    rng.shuffle(texts)
    return texts


def write(folder: Path, texts: list[str], files: int = 3, ids: str = "some") -> Path:
    """The texts as JSONL files of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        lines = []
        for i, text in enumerate(texts):
            if i * files // len(texts) == number:
                record: dict[str, Any] = {"text": text}
                if ids == "numbers":
                    record["id"] = i // 2 * 2
                elif ids == "some" and number != 1:
                    record["id"] = f"document {i % 50}"
                lines.append(json.dumps(record))
        (folder / f"{number}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    "options",
    [
        {"threshold": 0.7},
        {"threshold": 0.5, "crowd": 6},
        {"threshold": 0.6, "crowd": 4, "collapse_exact": True},
        {"threshold": 0.6, "link": "connected", "shingle": "word:2"},
        {"threshold": 0.3, "crowd": 30},
        {"threshold": 0.6, "crowd": 5, "verify": "text", "normalize": "nfkc,casefold,space"},
        {"threshold": 0.6, "sketch": "independent", "slots": 64},
    ],
    ids=lambda options: ",".join(f"{name}={value}" for name, value in options.items()),
)
@pytest.mark.parametrize("ids", ["some", "numbers", "none"])
def test_families_crowds_and_copies_are_those_of_one_machine(
    tmp_path: Path, find_both: Find, options: dict[str, Any], ids: str
) -> None:
    path = write(tmp_path / "in", collection(1, [2, 3, 5, 8, 20, 80]), ids=ids)
    one, other = find_both(path, **options)
    assert len(one.pairs) > 50
    assert_equal(one, other)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("how", ["backwards", "twice"])
def test_the_order_in_which_tasks_are_done_and_how_often_change_nothing(
    tmp_path: Path, find_both: Find, how: str
) -> None:
    path = write(tmp_path / "in", collection(2, [2, 3, 5, 8, 20, 80]), files=5)
    one, other = find_both(path, threshold=0.6, crowd=5, cluster=InProcess(**{how: True}))
    assert_equal(one, other)


class Counting(InProcess):
    """Remembers to how many partitions each exchange went."""

    def exchange(self, name: str, tasks: Any, give: Any, parts: int, take: Any) -> Any:
        self.parts = getattr(self, "parts", {}) | {name: parts}
        return super().exchange(name, tasks, give, parts, take)


@pytest.mark.parametrize("partitions", [1, 7, 200])
def test_any_number_of_partitions_gives_the_same(
    tmp_path: Path, find_both: Find, monkeypatch: pytest.MonkeyPatch, partitions: int
) -> None:
    texts = collection(8, [2, 3, 5, 8, 30])
    keys = len(texts) * tuning.make_spec(SearchOptions(threshold=0.6)).bands.bands
    for name, size in (
        ("search.PART_KEYS", keys),
        ("copies.PART_PRINTS", len(texts)),
        *((f"{module}.PARTS_TEXT", sum(map(len, texts))) for module in ("copies", "checking", "waiting")),
    ):
        monkeypatch.setattr(f"neardup.spark.{name}", max(1, size // (partitions - 1)) if partitions > 1 else 2 * size)
    cluster = Counting(twice=True)
    assert_equal(*find_both(write(tmp_path / "in", texts), threshold=0.6, crowd=6, cluster=cluster))
    assert cluster.parts["keys"] >= partitions
    assert cluster.parts["check"] >= partitions // 40
    assert partitions > 1 or set(cluster.parts.values()) <= {1, 2}


def test_a_small_collection_goes_to_one_partition_of_each_kind(tmp_path: Path, find_both: Find) -> None:
    cluster = InProcess()
    path = write(tmp_path / "in", collection(3, [4, 9]), ids="none")
    one, other = find_both(path, threshold=0.6, cluster=cluster)
    assert_equal(one, other)
    assert cluster.stages == ["read", "prints", "names", "copies", "sample", "keys", "names", "check"]


@pytest.mark.usefixtures("small_parts")
def test_buckets_that_wait_are_paired_up_in_tasks(tmp_path: Path, find_both: Find) -> None:
    cluster = InProcess()
    path = write(tmp_path / "in", collection(4, [150, 90, 70, 3]))
    one, other = find_both(path, threshold=0.5, cluster=cluster)
    assert "large buckets" in cluster.stages
    assert_equal(one, other)


@pytest.mark.usefixtures("small_parts")
def test_hot_buckets_and_buckets_that_wait_come_together(tmp_path: Path, find_both: Find) -> None:
    cluster = InProcess()
    path = write(tmp_path / "in", collection(5, [400, 180, 180, 3]))
    one, other = find_both(path, threshold=0.5, crowd=160, cluster=cluster)
    assert {"large buckets", "crowd texts"} <= set(cluster.stages)
    assert len(one.crowds)
    assert_equal(one, other)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("crowd", [20, 50])
def test_overfull_documents_have_the_same_pairs(
    tmp_path: Path, find_both: Find, monkeypatch: pytest.MonkeyPatch, crowd: int
) -> None:
    monkeypatch.setattr(hot, "BUDGET_NS", 1.0)
    one, other = find_both(write(tmp_path / "in", crawl(300, (70, 150), 0.8)), threshold=0.8, crowd=crowd)
    assert one.pairs.num_rows > 100
    assert_equal(one, other)


@pytest.mark.usefixtures("small_parts")
def test_a_pair_that_meets_in_one_band_only_is_screened_as_on_one_machine(
    tmp_path: Path, find_both: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(3)
    path = write(tmp_path / "in", [text for size in (150, 100) for text in family(rng, size, changes=15)])
    one, other = find_both(path, threshold=0.5, crowd=30)  # many pairs of two documents from large buckets, too
    assert_equal(one, other)

    def without_the_rule(*given: Any, **more: Any) -> Any:
        screen = choose_screen(*given, **more)
        return replace(screen, least_alone=screen.least)

    monkeypatch.setattr(tuning, "choose_screen", without_the_rule)
    one, more = find_both(path, threshold=0.5, crowd=30)
    assert_equal(one, more)
    assert more.summary.checked > other.summary.checked + 100


@pytest.mark.parametrize("texts", [[], [""], ["", " "], ["alone"], ["a copy of this", "a copy of this"]])
def test_collections_of_next_to_nothing(tmp_path: Path, find_both: Find, texts: list[str]) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    if not texts:
        path.write_text("\n\n")
    assert_equal(*find_both(path, threshold=0.6))


def test_bad_records_are_counted_and_named_with_their_lines(tmp_path: Path, find_both: Find) -> None:
    path = write(tmp_path / "in", collection(6, [5, 9]))
    file = path / "1.jsonl"
    lines = file.read_text().splitlines()
    lines[3:3] = ["{", "", '{"text": 3}', ""]
    file.write_text("\n".join(lines))
    one, other = find_both(path, threshold=0.6, on_bad="skip")
    assert one.summary.bad == 2
    assert_equal(one, other)
    with pytest.raises(InputError) as here:
        find_both(path, threshold=0.6)
    assert "1.jsonl:4" in str(here.value)


def test_the_error_of_a_bad_record_is_that_of_one_machine(tmp_path: Path, find_both: Find) -> None:
    class Broken(InProcess):
        """Does not fail on the first of two machines."""

    path = write(tmp_path / "in", collection(6, [5, 9]))
    (path / "2.jsonl").write_text('{"text": "good"}\n{"text"\n')
    (path / "1.jsonl").write_text('{"text": "good"}\n\n{"txt": 1}\n')
    messages = []
    for cluster in (None, Broken(backwards=True)):
        with pytest.raises(InputError) as raised:
            find_both(path, threshold=0.6, cluster=cluster)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


def test_an_input_that_was_changed_between_the_stages_is_named(tmp_path: Path, find_both: Find) -> None:
    path = write(tmp_path / "in", collection(7, [5, 9]))

    class Changing(InProcess):
        def exchange(self, name: str, *more: Any) -> Any:
            if name == "check":
                file = path / "1.jsonl"
                file.write_text(file.read_text().replace("a", "e"))
            return super().exchange(name, *more)

    with pytest.raises(InputChanged, match=r"1\.jsonl"):
        find_both(path, threshold=0.6, cluster=Changing())


@pytest.mark.usefixtures("small_parts")
@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("newsgroups", {"threshold": 0.4}),
        ("records", {"threshold": 0.5, "crowd": 4}),
        ("multilingual", {"threshold": 0.6, "crowd": 3}),
        ("clough_stevenson", {"threshold": 0.3}),
        ("bible_nt", {"threshold": 0.5, "crowd": 5}),
        ("mccormick_articles", {"threshold": 0.5}),
    ],
)
def test_collections_of_the_project(shared_data: Path, find_both: Find, name: str, options: dict[str, Any]) -> None:
    assert_equal(*find_both(shared_data / name, split_bytes=200_000, **options))


@given(
    texts=st.lists(
        st.one_of(st.text(alphabet="ab ", max_size=30), st.sampled_from(["a rose is a rose", "a rose is a nose", ""])),
        min_size=1,
        max_size=40,
    ),
    crowd=st.integers(2, 9),
    files=st.integers(1, 4),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@pytest.mark.usefixtures("small_parts")
def test_any_texts_in_any_files(find_both: Find, texts: list[str], crowd: int, files: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), texts, files=files)
        assert_equal(*find_both(path, threshold=0.5, shingle="char:3", crowd=crowd))


def test_groups_are_made_of_rows_and_their_firsts_in_any_order() -> None:
    groups = Groups.of(np.array([7, 2, 7, 2, 2]), np.array([9, 4, 7, 2, 3]))
    assert groups.several.tolist() == [2, 7]
    assert groups.starts.tolist() == [0, 3, 5]
    assert groups.members.tolist() == [2, 3, 4, 7, 9]


def test_a_cluster_refuses_an_input_of_which_nothing_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"text": 5}\n' * 2000, encoding="utf-8")
    reader = open_across(path, None, InputOptions(on_bad="skip"), item=False)
    how: dict[str, Any] = {"cluster": InProcess(), "storage": Storage(str(tmp_path / "work")), "split_bytes": 5000}
    with (
        pytest.raises(InputError, match=r"^nothing could be read\. 2,000 bad records, the first: .*bad\.jsonl:1: "),
        ClusterRun(reader, tuning.make_spec(SearchOptions()), RunOptions(), worker_memory=600 << 20, **how) as run,
    ):
        run.find("star")


@pytest.mark.usefixtures("small_parts")
def test_more_documents_with_pairs_than_can_be_numbered_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neardup.engine.reading.collection.MOST_DOCUMENTS", 100)
    monkeypatch.setattr("neardup.spark.search.FEWEST", 10_000)  # no sample is collected
    reader = open_across(write(tmp_path / "in", collection(3, [60, 60])), None, InputOptions(), item=False)
    cluster = InProcess()
    how: dict[str, Any] = {"cluster": cluster, "storage": Storage(str(tmp_path / "work")), "split_bytes": 5000}
    spec = tuning.make_spec(SearchOptions(threshold=0.6))
    with (
        pytest.raises(InputError, match="more than 100 documents"),
        ClusterRun(reader, spec, RunOptions(), worker_memory=600 << 20, **how) as run,
    ):
        run.find("star")
    assert cluster.stages[-1] == "names"  # no task had as many
