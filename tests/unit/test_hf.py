"""Folders of Hugging Face datasets, written and loaded by the real library."""

from __future__ import annotations

import datetime
import decimal
import json
import os
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pytest
from tests.unit.reading import read

from neardup.errors import InputError, OutputError
from neardup.inputs.reader import open_inputs
from neardup.tasks.dedup.rewrite.datasets import rewrite_dataset, rewrite_dataset_dict
from neardup.tasks.dedup.rewrite.model import Annotation

FEATURES = datasets.Features(
    {
        "id": datasets.Value("int64"),
        "text": datasets.Value("large_string"),
        "label": datasets.ClassLabel(names=["no", "yes"]),
        "tags": datasets.Sequence(datasets.Value("string")),
        "spans": [{"start": datasets.Value("int32"), "kind": datasets.Value("string")}],
        "meta": {"score": datasets.Value("float32"), "where": {"page": datasets.Value("int16")}},
        "when": datasets.Value("timestamp[us, tz=UTC]"),
        "price": datasets.Value("decimal128(10, 2)"),
        "raw": datasets.Value("binary"),
        "grid": datasets.Array2D(shape=(2, 2), dtype="int32"),
    }
)


def example(i: int) -> dict[str, Any]:
    return {
        "id": 100 + i,
        "text": f"text number {i}",
        "label": i % 2,
        "tags": ["tag"] * (i % 3),
        "spans": [{"start": i, "kind": "k"}] * (i % 2),
        "meta": {"score": i / 4, "where": {"page": i}},
        "when": datetime.datetime(2020, 1, 1 + i, tzinfo=datetime.UTC),
        "price": decimal.Decimal(i) / 4,
        "raw": bytes([i, 255]),
        "grid": [[i, 0], [0, i]],
    }


ROWS = [example(i) for i in range(11)]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


@pytest.fixture(scope="module")
def dataset() -> datasets.Dataset:
    return datasets.Dataset.from_list(ROWS, features=FEATURES)


def saved(dataset: Any, folder: Path, **options: Any) -> str:
    dataset.save_to_disk(folder, **options)
    return str(folder)


def rows_of(*rows: int) -> Any:
    return np.array(rows, dtype=np.int64)


def loaded(folder: Path) -> Any:
    return datasets.load_from_disk(str(folder))


def without(*rows: int) -> list[dict[str, Any]]:
    return [row for i, row in enumerate(ROWS, start=1) if i not in rows]


def test_a_saved_dataset_is_read_across_its_shards(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset, tmp_path / "d", num_shards=3)
    every = read(folder)
    assert every.texts == [row["text"] for row in ROWS]
    assert every.ids == [row["id"] for row in ROWS]
    assert every.rows == list(range(1, 12))
    assert {batch.source for batch in every.batches} == {folder}
    total = sum(path.stat().st_size for path in Path(folder).glob("*.arrow"))
    assert open_inputs(folder).total_bytes == total
    assert 0.5 * total < every.consumed <= total
    assert read(folder, block=2).texts == every.texts
    assert read(folder, text="text", id="text").ids == every.texts


def test_ids_of_a_dataset_without_them_name_the_folder(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset.select_columns(["text"]), tmp_path / "d", num_shards=2)
    assert read(folder).ids == [f"{folder}:{i}" for i in range(1, 12)]


def test_splits_of_a_dictionary_are_sources_in_its_order(tmp_path: Path, dataset: datasets.Dataset) -> None:
    both = datasets.DatasetDict({"train": dataset, "a-test": dataset.select([4, 2])})
    folder = saved(both, tmp_path / "dd")
    every = read(folder)
    assert list(dict.fromkeys(batch.source for batch in every.batches)) == [f"{folder}/train", f"{folder}/a-test"]
    assert every.texts == [row["text"] for row in [*ROWS, ROWS[4], ROWS[2]]]
    assert every.rows == [*range(1, 12), 1, 2]
    assert read(f"{folder}/a-test").texts == [ROWS[4]["text"], ROWS[2]["text"]]


def test_a_selection_is_saved_as_its_rows(tmp_path: Path, dataset: datasets.Dataset) -> None:
    shuffled = dataset.shuffle(seed=3)
    folder = saved(shuffled, tmp_path / "d")
    assert read(folder).texts == shuffled["text"][:]


def test_a_selection_of_an_old_version_is_refused(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset, tmp_path / "d")
    change_state(folder, _indices_data_files=[{"filename": "indices.arrow"}])
    with pytest.raises(InputError, match=r"is a selection of rows of its files.*flatten_indices"):
        read(folder)


def test_an_empty_dataset_has_no_documents(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset.select([]), tmp_path / "d")
    assert read(folder).texts == []
    written = rewrite_dataset(folder, tmp_path / "out", rows_of())
    assert (written.kept, written.removed) == (0, 0)
    assert sorted(os.listdir(tmp_path / "out")) == sorted(os.listdir(folder))


def test_a_pattern_or_a_format_reads_the_files_instead(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset, tmp_path / "d", num_shards=2)
    first = f"{folder}/data-00000-of-00002.arrow"
    assert {batch.source for batch in read(folder, glob="*-00000-*.arrow").batches} == {first}
    Path(folder, "readme.md").write_text("a card")
    assert read(folder, input_format="text").texts == ["a card"]


def test_a_dataset_and_one_of_its_files_are_given_twice(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = Path(saved(dataset, tmp_path / "d"))
    with pytest.raises(InputError, match="is given twice"):
        read([folder, folder / "data-00000-of-00001.arrow"])
    with pytest.raises(InputError, match="is given twice"):
        read([folder, folder])


def change_state(folder: str | Path, **values: Any) -> None:
    path = Path(folder, "state.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([{"filename": "gone.arrow"}], "names 'gone.arrow', and there is no such file beside it"),
        ([{"filename": "../data.arrow"}], r"names '../data.arrow', which is no file in that folder"),
        ([{"filename": "/data.arrow"}], r"names '/data.arrow', which is no file in that folder"),
        ([{"filename": ".."}], "which is no file in that folder"),
        (["data.arrow"], "does not name the files of the dataset under '_data_files'"),
        (None, "does not name the files of the dataset under '_data_files'"),
    ],
)
def test_a_damaged_state_names_what_is_wrong(
    tmp_path: Path, dataset: datasets.Dataset, files: Any, message: str
) -> None:
    folder = saved(dataset, tmp_path / "d")
    change_state(folder, _data_files=files)
    with pytest.raises(InputError, match=message + r".*save_to_disk"):
        read(folder)


def test_damaged_files_are_named(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = Path(saved(dataset, tmp_path / "d", num_shards=2))
    second = folder / "data-00001-of-00002.arrow"
    whole = second.read_bytes()
    second.write_bytes(whole[:-600])
    with pytest.raises(InputError, match=r"data-00001-of-00002.arrow cannot be read as an Arrow stream"):
        read(folder)
    with pa.OSFile(str(second), "w") as file, pa.ipc.new_stream(file, pa.schema([("text", pa.string())])):
        pass
    with pytest.raises(InputError, match="has other columns than the first file"):
        read(folder)
    (folder / "state.json").write_text("{")
    with pytest.raises(InputError, match=r"state.json is no valid JSON"):
        read(folder)
    (folder / "state.json").write_text("[]")
    with pytest.raises(InputError, match=r"state.json holds no JSON object"):
        read(folder)


def test_a_damaged_dictionary_is_named(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = Path(saved(datasets.DatasetDict({"train": dataset, "test": dataset}), tmp_path / "dd"))
    shutil.rmtree(folder / "test")
    with pytest.raises(InputError, match="names the split 'test', and there is no dataset in"):
        read(folder)
    (folder / "dataset_dict.json").write_text('{"splits": ["../train"]}')
    with pytest.raises(InputError, match="has no list of splits"):
        read(folder)
    (folder / "dataset_dict.json").write_text('{"splits": []}')
    with pytest.raises(InputError, match="without a split"):
        read(folder)


@pytest.mark.parametrize("shards", [1, 3, 11])
@pytest.mark.parametrize(
    "removed", [(), (1,), (11,), (2, 3, 7), (1, 2, 3, 4), tuple(range(2, 12)), tuple(range(1, 12))], ids=str
)
def test_a_clean_copy_loads_without_the_removed_rows(
    tmp_path: Path, dataset: datasets.Dataset, shards: int, removed: tuple[int, ...]
) -> None:
    folder = saved(dataset, tmp_path / "d", num_shards=shards)
    written = rewrite_dataset(folder, tmp_path / "out", rows_of(*removed))
    clean = loaded(tmp_path / "out")
    assert clean.features == FEATURES
    assert clean.to_list() == without(*removed)
    assert (written.kept, written.removed, written.bad) == (11 - len(removed), len(removed), 0)
    assert written.bytes == sum(path.stat().st_size for path in (tmp_path / "out").iterdir())
    assert sorted(os.listdir(folder)) == sorted(os.listdir(tmp_path / "out"))
    assert sorted(os.listdir(tmp_path)) == ["d", "out"]
    assert read(tmp_path / "out").texts == [row["text"] for row in without(*removed)]


def test_a_copy_without_removals_is_the_same_bytes(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset, tmp_path / "d", num_shards=2)
    rewrite_dataset(folder, tmp_path / "out", rows_of())
    for name in os.listdir(folder):
        assert (tmp_path / "out" / name).read_bytes() == Path(folder, name).read_bytes()


def test_shards_that_lose_nothing_are_the_same_bytes(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset, tmp_path / "d", num_shards=3)
    rewrite_dataset(folder, tmp_path / "out", rows_of(5))
    same = {
        path.name: path.read_bytes() == (tmp_path / "out" / path.name).read_bytes() for path in Path(folder).iterdir()
    }
    assert same == {
        "data-00000-of-00003.arrow": True,
        "data-00001-of-00003.arrow": False,
        "data-00002-of-00003.arrow": True,
        "dataset_info.json": True,
        "state.json": False,
    }


def test_schema_metadata_of_the_shards_is_kept(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset, tmp_path / "d")
    rewrite_dataset(folder, tmp_path / "out", rows_of(1))
    old, new = (
        pa.ipc.open_stream(pa.memory_map(str(Path(each, "data-00000-of-00001.arrow")))).schema
        for each in (folder, tmp_path / "out")
    )
    assert new.equals(old, check_metadata=True)


def test_the_fingerprint_depends_on_what_was_removed_and_nothing_else(
    tmp_path: Path, dataset: datasets.Dataset
) -> None:
    folder = saved(dataset, tmp_path / "d", num_shards=2)
    found = []
    for i, removed in enumerate([(), (1,), (1,), (1, 2)]):
        rewrite_dataset(folder, tmp_path / f"out{i}", rows_of(*removed))
        found.append(loaded(tmp_path / f"out{i}")._fingerprint)
    assert found[0] == loaded(Path(folder))._fingerprint
    assert found[1] == found[2]
    assert len(set(found)) == 3
    assert all(len(each) == 16 and int(each, 16) >= 0 for each in found)


def test_the_format_of_a_dataset_is_kept(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset.with_format("numpy", columns=["label", "id"]), tmp_path / "d")
    rewrite_dataset(folder, tmp_path / "out", rows_of(1))
    assert loaded(tmp_path / "out").format == loaded(Path(folder)).format


def built(folder: Path) -> str:
    """Splits as ``load_dataset`` makes them, with their sizes recorded."""
    for name, count in (("x", 9), ("y", 4)):
        lines = [json.dumps({"text": f"{name} {i}"}) for i in range(count)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    files = {"train": str(folder / "x.jsonl"), "test": str(folder / "y.jsonl")}
    made = datasets.load_dataset("json", data_files=files, cache_dir=str(folder / "cache"))
    return saved(made, folder / "built")


def test_recorded_sizes_of_the_split_are_those_of_the_copy(tmp_path: Path) -> None:
    folder = built(tmp_path)
    rewrite_dataset(f"{folder}/train", tmp_path / "out", rows_of(2, 9))
    before, after = loaded(Path(folder, "train")).info, loaded(tmp_path / "out")
    assert (before.splits["train"].num_examples, before.splits["test"].num_examples) == (9, 4)
    assert after.info.splits["train"].num_examples == len(after) == 7
    assert after.info.splits["train"].num_bytes == after.data.nbytes < before.splits["train"].num_bytes
    assert after.info.splits["test"] == before.splits["test"]
    assert after.info.dataset_size == sum(split.num_bytes for split in after.info.splits.values())
    assert after.info.size_in_bytes == after.info.dataset_size + before.download_size
    assert after.info.download_size == before.download_size


def test_splits_of_a_dictionary_know_the_sizes_of_each_other(tmp_path: Path) -> None:
    folder = built(tmp_path)
    removed = {"train": rows_of(1, 2, 3), "test": rows_of(4)}
    written = rewrite_dataset_dict(folder, tmp_path / "out", removed)
    clean = loaded(tmp_path / "out")
    assert list(clean) == list(written) == ["train", "test"]
    assert clean["train"]["text"][:] == [f"x {i}" for i in range(3, 9)]
    assert clean["test"]["text"][:] == ["y 0", "y 1", "y 2"]
    for split in clean.values():
        assert {name: each.num_examples for name, each in split.info.splits.items()} == {"train": 6, "test": 3}
        assert split.info.splits["test"].num_bytes == clean["test"].data.nbytes
    assert {name: (each.kept, each.removed) for name, each in written.items()} == {"train": (6, 3), "test": (3, 1)}


def test_a_split_that_is_not_named_loses_nothing(tmp_path: Path, dataset: datasets.Dataset) -> None:
    both = datasets.DatasetDict({"train": dataset, "test": dataset.select([4, 2])})
    folder = saved(both, tmp_path / "dd", num_shards={"train": 3, "test": 1})
    rewrite_dataset_dict(folder, tmp_path / "out", {"train": rows_of(1, 11)})
    clean = loaded(tmp_path / "out")
    assert clean["train"].to_list() == without(1, 11)
    assert clean["test"].to_list() == [ROWS[4], ROWS[2]]
    with pytest.raises(InputError, match="has no split 'valid'; there are 'train', 'test'"):
        rewrite_dataset_dict(folder, tmp_path / "other", {"valid": rows_of(1)})


@pytest.mark.parametrize(
    ("keeper", "dtype"),
    [(pa.array([107, 107, 101], pa.int64()), "int64"), (pa.array(["a", "a", "b"], pa.large_string()), "large_string")],
    ids=["int64", "large_string"],
)
def test_an_annotated_copy_has_three_more_features(
    tmp_path: Path, dataset: datasets.Dataset, keeper: Any, dtype: str
) -> None:
    folder = saved(dataset, tmp_path / "d", num_shards=3)
    note = Annotation(rows_of(2, 8, 11), rows_of(7, 7, 1), keeper, np.array([0.5, 1.0, np.nan]))
    written = rewrite_dataset(folder, tmp_path / "out", rows_of(), note)
    assert (written.kept, written.removed) == (11, 0)
    found = loaded(tmp_path / "out")
    values = {"cluster": "int64", "keeper": dtype, "similarity": "float64"}
    assert found.features == {**FEATURES, **{name: datasets.Value(each) for name, each in values.items()}}
    assert found.remove_columns(list(values)).to_list() == ROWS
    expected = dict(zip([2, 8, 11], zip([7, 7, 1], keeper.to_pylist(), [0.5, 1.0, None], strict=True), strict=True))
    for i, row in enumerate(found, start=1):
        assert (row["cluster"], row["keeper"], row["similarity"]) == expected.get(i, (None, None, None))
    assert found._fingerprint != loaded(Path(folder))._fingerprint


def test_an_annotation_of_columns_that_exist_takes_other_names(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset.rename_column("label", "cluster"), tmp_path / "d")
    note = Annotation(rows_of(1), rows_of(1), pa.array([100], pa.int64()), np.array([1.0]))
    rewrite_dataset(folder, tmp_path / "out", rows_of(), note)
    assert loaded(tmp_path / "out").column_names[-3:] == ["neardup_cluster", "neardup_keeper", "neardup_similarity"]


def test_rows_that_are_not_there_mean_a_changed_dataset(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset, tmp_path / "d")
    with pytest.raises(InputError, match="was changed since it was read: of 2 documents to find again, 1"):
        rewrite_dataset(folder, tmp_path / "out", rows_of(3, 12))
    assert os.listdir(tmp_path) == ["d"]


def test_nothing_is_written_over(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset, tmp_path / "d")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"cannot write .*full: it exists"):
        rewrite_dataset(folder, tmp_path / "full", rows_of(1))
    assert os.listdir(tmp_path / "full") == ["mine.txt"]
    for place in (Path(folder), Path(folder) / "inside", tmp_path):
        with pytest.raises(OutputError, match="Give another folder"):
            rewrite_dataset(folder, place, rows_of(1))
    with pytest.raises(OutputError, match="Make the folder first"):
        rewrite_dataset(folder, tmp_path / "no" / "such", rows_of(1))
    (tmp_path / "empty").mkdir()
    rewrite_dataset(folder, tmp_path / "empty", rows_of(1))
    assert len(loaded(tmp_path / "empty")) == 10


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset, tmp_path / "d", num_shards=2)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OutputError, match=r"cannot write .*out: File too large"):
            rewrite_dataset(folder, tmp_path / "out", rows_of(1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert os.listdir(tmp_path) == ["d"]


def test_a_column_that_is_not_there_is_named(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset, tmp_path / "d")
    with pytest.raises(InputError, match=r"there is no column 'txt' for --text.* Did you mean 'text'"):
        read(folder, text="txt")
