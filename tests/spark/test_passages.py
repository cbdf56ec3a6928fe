"""Repeated passages by the stages of a cluster are those of one machine: spans, cuts, copies, counts."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.oracles import repeats as plain
from tests.spark.inprocess import InProcess
from tests.spark.repeating import both, outcome
from tests.unit.repeating import BAD_KEY

from neardup.errors import InputChanged, InputError
from neardup.spark.repeats import anchors, run, segments
from neardup.spark.storage import Storage
from neardup.tasks.repeats import heaviest
from neardup.tasks.repeats.decided import DecidedCuts
from neardup.tasks.repeats.settings import Cutting, Length

NOTICE = "All rights are reserved by the one who wrote it, and nobody may copy it. "
PIECES = [
    NOTICE,
    "ab" * 40,
    "x" * 70,
    "héllo wörld, zwölf " * 3,
    "The quick brown fox jumps over the dog. ",
    "日本語の文章。" * 4,
]


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions, blocks and chunks of some texts; what weighs most is counted across chunks."""
    monkeypatch.setattr(heaviest, "BLOCK", 7)
    monkeypatch.setattr(anchors, "PARTS_TEXT", 2000)
    monkeypatch.setattr(anchors, "GIVEN", 600)
    monkeypatch.setattr(anchors, "SELECTED", 150)
    monkeypatch.setattr(segments, "CHUNK", 700)


def collection(seed: int, documents: int) -> list[str]:
    """Texts of pieces that come again, periodic ones too, between text that does not; some empty ones."""
    rng = random.Random(seed)

    def piece() -> str:
        if rng.random() < 0.5:
            whole = rng.choice(PIECES)
            begin = rng.randrange(len(whole) // 2)
            return whole[begin : begin + rng.randrange(len(whole))]
        return "".join(rng.choices("abcde é", k=rng.randrange(30)))

    return ["".join(piece() for _ in range(rng.randrange(8))) for _ in range(documents)]


def write(path: Path, texts: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts))
    return path


@pytest.mark.usefixtures("small_tasks")
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6),
    documents=st.integers(0, 40),
    splits=st.sampled_from([1, 2, 7]),
    policy=st.sampled_from(["first", "first-greedy", "none", "other-documents"]),
    snap=st.sampled_from(["char", "word", "line", "sentence"]),
    span=st.integers(16, 40),
)
def test_any_collection_in_any_splits_gives_what_one_machine_gives(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    documents: int,
    splits: int,
    policy: str,
    snap: str,
    span: int,
) -> None:
    folder = tmp_path_factory.mktemp("passages")
    path = write(folder / "in.jsonl", collection(seed, documents))
    cutting = Cutting(policy, snap, seed % 30, seed % 50)
    how: dict[str, Any] = {"cutting": cutting, "length": Length("byte", span)}
    one, other = both(path, folder, split=max(1, path.stat().st_size // splits), **how)
    assert other == one


@pytest.mark.usefixtures("small_tasks")
@pytest.mark.parametrize(
    ("kind", "span", "normalize"), [("char", 16, "none"), ("byte", 20, "nfc,casefold,space"), ("char", 24, "casefold")]
)
def test_characters_and_normalised_texts_give_what_one_machine_gives(
    tmp_path: Path, kind: str, span: int, normalize: str
) -> None:
    path = write(tmp_path / "in.jsonl", collection(5, 30))
    how: dict[str, Any] = {"length": Length(kind, span), "normalize": normalize, "cutting": Cutting(min_cut=8)}
    one, other = both(path, tmp_path, split=700, **how)
    assert other == one
    assert one.summary["spans"] > 20


@pytest.mark.usefixtures("small_tasks")
def test_spans_are_those_of_all_windows_compared_with_each_other(tmp_path: Path) -> None:
    texts = collection(8, 25)
    found = outcome(write(tmp_path / "in.jsonl", texts), tmp_path, length=Length("byte", 20), split=600).spans
    known = plain.windows([text.encode() for text in texts], 20)
    seen = set()
    for span in found.to_pylist():
        document = int(span["id"].rpartition(":")[2]) - 1
        inside = {(document, i) for i in range(span["start_byte"], span["end_byte"] - 19)}
        assert {known[each].kind == plain.FIRST for each in inside} == {span["first"]}
        assert max(known[each].places for each in inside) == span["count"]
        assert not seen & inside
        seen |= inside
    assert seen == set(known)


@pytest.mark.usefixtures("small_tasks")
@pytest.mark.parametrize("backwards", [False, True])
def test_tasks_in_any_order_and_done_twice_change_nothing(tmp_path: Path, backwards: bool) -> None:
    path = write(tmp_path / "in.jsonl", collection(6, 30))
    cluster = InProcess(backwards=backwards, twice=True)
    one, other = both(path, tmp_path, split=500, cluster=cluster, cutting=Cutting(min_cut=10))
    assert other == one


@pytest.mark.usefixtures("small_tasks")
def test_one_key_for_all_anchors_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "in.jsonl", collection(7, 14))
    monkeypatch.setattr(run, "private_key", lambda: BAD_KEY)
    one, other = both(path, tmp_path, split=500)
    assert other == one


def texts_of(path: Path, texts: list[str]) -> None:
    """Write texts as the format of a path has them."""
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        pq.write_table(pa.table({"id": [f"d{i}" for i in range(len(texts))], "text": texts}), path, row_group_size=7)
        return
    lines = [f'{i},"{text}"' for i, text in enumerate(texts)] if ".csv" in name else texts
    if ".jsonl" in name:
        lines = [json.dumps({"text": text, "n": i}) for i, text in enumerate(texts)]
    data = "\n".join([*(["id,text"] if ".csv" in name else []), *lines, ""]).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


@pytest.mark.usefixtures("small_tasks")
@pytest.mark.parametrize("name", ["in.jsonl", "in.jsonl.gz", "in.csv", "in.parquet"])
def test_copies_of_all_formats_are_those_of_one_machine(tmp_path: Path, name: str) -> None:
    path = tmp_path / "in" / name
    path.parent.mkdir()
    texts_of(path, [text.replace('"', "") for text in collection(9, 40)])
    one, other = both(path.parent, tmp_path, split=400, cutting=Cutting(min_cut=10, min_left=20))
    assert other == one
    assert one.facts["left_out"]


def test_a_folder_of_texts_gives_what_one_machine_gives(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for i, text in enumerate(collection(10, 20)):
        (tmp_path / "in" / f"{i:02d}.txt").write_text(text)
    one, other = both(tmp_path / "in", tmp_path, split=300, cutting=Cutting(min_cut=10))
    assert other == one


@pytest.mark.usefixtures("small_tasks")
def test_bad_records_and_ids_are_told_as_one_machine_tells_them(tmp_path: Path) -> None:
    lines = [json.dumps({"id": f"é{i}", "text": text}) for i, text in enumerate(collection(11, 30))]
    lines[3], lines[17] = "{", '{"id": "no text"}'
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(lines) + "\n\n")
    one, other = both(path, tmp_path, split=500, on_bad="skip", cutting=Cutting(min_cut=10))
    assert other == one
    assert len(one.faults) == 2
    with pytest.raises(InputError) as local:
        outcome(path, tmp_path, is_local=True)
    with pytest.raises(InputError) as clustered:
        outcome(path, tmp_path, split=500)
    assert str(clustered.value) == str(local.value)


def test_a_passage_at_thousands_of_places_is_grouped_and_as_a_crowd_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(12)
    path = write(tmp_path / "in.jsonl", [f"{rng.random()} {NOTICE}{rng.random()}" for _ in range(2000)])
    one, other = both(path, tmp_path, split=30_000, length=Length("byte", 30))
    assert other == one
    assert one.spans["count"].to_pylist()[0] == 2000
    monkeypatch.setattr(anchors, "LEAST_FIT", 50)
    monkeypatch.setattr(anchors, "GROUP_SHARE", 0.0)
    monkeypatch.setattr(anchors, "CROWD_SHARE", 0.0)
    monkeypatch.setattr(anchors, "CELL", 50_000)
    assert outcome(path, tmp_path, split=30_000, length=Length("byte", 30)) == one


@pytest.mark.usefixtures("small_tasks")
def test_crowds_of_periodic_texts_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "in.jsonl", [*collection(18, 30), *["ab" * 60, "x" * 90, "ab" * 30 + NOTICE] * 6])
    for name, value in (("LEAST_FIT", 3), ("GROUP_SHARE", 0.0), ("CROWD_SHARE", 0.0), ("CELL", 300)):
        monkeypatch.setattr(anchors, name, value)
    one, other = both(path, tmp_path, split=500, cutting=Cutting(min_cut=10))
    assert other == one


def test_windows_that_follow_each_other_become_runs_but_for_heads_of_loops() -> None:
    def piece(place: int, first: int, count: int) -> list[int]:
        return [place << 12, first, count, 1]

    pieces = [piece(7, 3, 2), piece(5, 1, 2), piece(6, 2, 2), piece(8, 4, 3), piece(9, 5, 3), piece(10, 6, 3)]
    found = anchors.in_runs(np.array(pieces, dtype=np.uint64), np.array([9]))
    rows = [(int(place) >> 12, int(place) & 4095, int(first)) for place, first, *_ in found]
    assert rows == [(5, 2, 1), (8, 0, 4), (9, 0, 5), (10, 0, 6)]
    long = np.array([piece(i, i, 2) for i in range(5000)], dtype=np.uint64)
    assert [int(row[0]) & 4095 for row in anchors.in_runs(long, np.empty(0, dtype=np.int64))] == [4095, 903]


def test_equal_windows_of_a_split_are_sent_once(tmp_path: Path) -> None:
    rng = random.Random(13)
    path = write(tmp_path / "in.jsonl", [f"{rng.random()} {NOTICE * 10}{rng.random()}" for _ in range(500)])
    cluster = InProcess()
    outcome(path, tmp_path, split=10**6, cluster=cluster, length=Length("byte", 100))
    assert cluster.sent["anchors"] < path.stat().st_size * 1.5


def test_too_many_places_for_a_worker_are_refused_with_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "in.jsonl", [NOTICE] * 200)
    monkeypatch.setattr(anchors, "HELD", 1 << 20)
    with pytest.raises(InputError, match=r"Raise spark\.executor\.pyspark\.memory .* by [\d.]+ GB"):
        outcome(path, tmp_path)


def test_a_run_that_was_stopped_goes_on_behind_its_last_stage(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", collection(14, 30))

    class Failing(InProcess):
        def exchange(self, name: str, *given: Any) -> Any:
            if name == "segments":
                raise KeyboardInterrupt
            return super().exchange(name, *given)

    work = tmp_path / "work"
    with pytest.raises(KeyboardInterrupt):
        outcome(path, tmp_path, cluster=Failing(), work=work)
    cluster = InProcess()
    other = outcome(path, tmp_path, cluster=cluster, work=work, resume=True)
    assert cluster.stages == ["segments"]
    assert other == outcome(path, tmp_path, is_local=True)
    assert not work.exists()


def test_windows_of_long_documents_are_chosen_from_bit_by_bit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(anchors, "SELECTED", 97)
    rng = random.Random(15)
    text = "".join(rng.choices("abc", k=3000))
    path = write(tmp_path / "in.jsonl", [text + "ab" * 200 + text[:700], "ab" * 300 + text[100:2000]])
    one, other = both(path, tmp_path, cutting=Cutting(min_cut=10))
    assert other == one


@pytest.mark.shared_data
def test_real_articles_give_what_one_machine_gives(tmp_path: Path, shared_data: Path) -> None:
    with gzip.open(shared_data / "mccormick_articles" / "articles_1000.jsonl.gz", "rt") as file:
        path = write(tmp_path / "in.jsonl", [json.loads(line)["text"] for line in file])
    cutting = Cutting("first", "sentence", 60, 200)
    one, other = both(path, tmp_path, split=path.stat().st_size // 5, length=Length("byte", 60), cutting=cutting)
    assert other == one
    assert one.facts["documents"] > 10


def test_rows_that_are_asked_for_in_any_order_are_those_of_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from neardup.spark.repeats import stored

    rng = np.random.default_rng(17)
    sizes = [0, 7, 0, 300, 1, 40, 0]
    whole = rng.integers(0, 1 << 32, (sum(sizes), 2), dtype=np.uint32)
    storage, starts = Storage(str(tmp_path)), np.cumsum([0, *sizes])
    for split in range(len(sizes)):
        storage.put_bytes(stored.file_of("rows", split), whole[starts[split] : starts[split + 1]].tobytes())
    column = stored.StoredColumn(storage, "rows", starts, np.uint32, 2)
    monkeypatch.setattr(stored, "OPEN_FILES", 1)
    for near, block in ((0, 10), (5, 50), (1000, 1000)):
        monkeypatch.setattr(stored, "NEAR", near)
        monkeypatch.setattr(stored, "BLOCK", block)
        rows = rng.integers(0, len(whole), 60)
        assert np.array_equal(column.take(rows), whole[rows])
        assert np.array_equal(column.slice(5, 340), whole[5:340])
        begins, lengths = np.array([2, 9, 30, 301]), np.array([4, 20, 90, 40])
        out = np.zeros((160, 2), dtype=np.uint32)
        column.gather(begins, lengths, out)
        wanted = [whole[begin : begin + length] for begin, length in zip(begins, lengths, strict=True)]
        assert np.array_equal(out[:154], np.concatenate(wanted))
    assert column.take(np.empty(0, dtype=np.int64)).shape == (0, 2)


def test_marks_count_the_characters_of_a_text_that_comes_bit_by_bit() -> None:
    from neardup.engine.repeats.text import MARK_BITS
    from neardup.spark.repeats.stored import Marks

    rng = random.Random(16)
    text = "".join(rng.choices("aé日", k=9000)).encode()
    marks, at = Marks(), 0
    while at < len(text):
        size = rng.randrange(5000)
        marks.add(np.frombuffer(text[at : at + size], dtype=np.uint8))
        at += size
    edges = [*range(0, len(text), 1 << MARK_BITS), len(text)]
    assert marks.marks.tolist() == [len(text[:edge].decode("utf-8", "ignore")) + _is_in(text, edge) for edge in edges]


def _is_in(text: bytes, at: int) -> int:
    """1 where a character that began before a place goes on there."""
    return int(at < len(text) and text[at] & 0xC0 == 0x80)


@pytest.mark.usefixtures("small_tasks")
def test_an_input_cut_in_half_after_the_search_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, plain = write(tmp_path / "in.jsonl", collection(9, 30)), DecidedCuts.__init__

    def decide(*args: Any) -> None:
        plain(*args)
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:15]))

    monkeypatch.setattr(DecidedCuts, "__init__", decide)
    with pytest.raises(InputChanged, match="when the run began"):
        outcome(path, tmp_path, cutting=Cutting(min_cut=10), split=500)
