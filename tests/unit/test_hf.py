"""Folders of Hugging Face datasets, written and loaded by the real library."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json
import os
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pytest
from tests.unit.reading import read

from neardup.errors import InputError, OutputError
from neardup.inputs.reader import open_inputs
from neardup.tasks.rewrite.copy_names import plan_copies
from neardup.tasks.rewrite.model import Annotation, Rewrite
from neardup.tasks.rewrite.writer import CleanWriter, write_copies

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


# Clean copies


def cleaned(
    folder: str, out: Path, removed: dict[str, tuple[int, ...]], annotation: Annotation | None = None, **how: Any
) -> list[str]:
    """Write a clean copy; rows to leave out are by the name of the folder of their split."""
    reader = open_inputs(folder)
    outputs = plan_copies(reader, str(out))

    def job_of(part: Any) -> Rewrite:
        rows = rows_of(*removed.get(os.path.basename(part.name), ()))
        return Rewrite(part.name, part.format, reader.options, rows, annotation)

    with CleanWriter(outputs, token="run", **how) as writer:
        return write_copies(reader.written_parts, writer, job_of, on_source_done=lambda: None)


def loaded(folder: Path) -> Any:
    """All splits, read by the library as it reads a repository of anybody's."""
    with tempfile.TemporaryDirectory() as cache:
        return datasets.load_dataset(str(folder), cache_dir=cache, keep_in_memory=True)


@pytest.mark.parametrize("shards", [1, 3, 11])
@pytest.mark.parametrize("removed", [(), (1,), (11,), (2, 3, 7), (1, 2, 3, 4), tuple(range(2, 12))], ids=str)
def test_a_clean_copy_loads_without_the_removed_rows(
    tmp_path: Path, dataset: datasets.Dataset, shards: int, removed: tuple[int, ...]
) -> None:
    folder = saved(dataset, tmp_path / "d", num_shards=shards)
    written = cleaned(folder, tmp_path / "out", {"d": removed})
    assert written == [str(tmp_path / f"out/data/train-{i:05}-of-{shards:05}.arrow") for i in range(shards)]
    clean = loaded(tmp_path / "out")
    assert list(clean) == ["train"]
    assert clean["train"].features == FEATURES
    assert clean["train"].to_list() == without(*removed)
    assert sorted(os.listdir(tmp_path)) == ["d", "out"]
    again = read(tmp_path / "out" / "data", glob="*.arrow")
    assert again.texts == [row["text"] for row in without(*removed)]


def test_a_split_that_loses_all_its_rows_has_empty_shards_beside_which_others_load(
    tmp_path: Path, dataset: datasets.Dataset
) -> None:
    folder = saved(datasets.DatasetDict({"train": dataset, "test": dataset.select([0, 1])}), tmp_path / "dd")
    _, empty = cleaned(folder, tmp_path / "out", {"test": (1, 2)})
    with pa.OSFile(empty) as file, pa.ipc.open_stream(file) as stream:
        assert stream.read_all().num_rows == 0
    for split, rows in (("train", ROWS), ("test", None)):
        with pytest.raises(ValueError, match="no data") if rows is None else contextlib.nullcontext():
            found = datasets.load_dataset(str(tmp_path / "out"), split=split, cache_dir=str(tmp_path / "cache"))
            assert found.to_list() == rows


def test_a_copy_loads_by_the_name_of_its_format_too(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset, tmp_path / "d", num_shards=2)
    cleaned(folder, tmp_path / "out", {"d": (1,)})
    clean = datasets.load_dataset(
        "arrow", data_dir=str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert clean.to_list() == without(1)


def test_shards_that_lose_nothing_are_the_same_bytes(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset, tmp_path / "d", num_shards=3)
    cleaned(folder, tmp_path / "out", {"d": (5,)})
    before = [path.read_bytes() for path in sorted(Path(folder).glob("*.arrow"))]
    after = [path.read_bytes() for path in sorted((tmp_path / "out/data").iterdir())]
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, False, True]


def test_schema_metadata_of_the_shards_is_kept(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset, tmp_path / "d")
    (written,) = cleaned(folder, tmp_path / "out", {"d": (1,)})
    old, new = (
        pa.ipc.open_stream(pa.memory_map(path)).schema for path in (f"{folder}/data-00000-of-00001.arrow", written)
    )
    assert new.equals(old, check_metadata=True)


def test_splits_of_a_dictionary_are_splits_of_the_copy(tmp_path: Path, dataset: datasets.Dataset) -> None:
    splits = {"train": dataset, "unsupervised.v2": dataset.select([4, 2]), "test": dataset.select([0])}
    folder = saved(
        datasets.DatasetDict(splits), tmp_path / "dd", num_shards={"train": 3, "unsupervised.v2": 1, "test": 1}
    )
    cleaned(folder, tmp_path / "out", {"train": (1, 11), "unsupervised.v2": (2,)})
    clean = loaded(tmp_path / "out")
    assert clean["train"].to_list() == without(1, 11)
    assert clean["unsupervised.v2"].to_list() == [ROWS[4]]
    assert clean["test"].to_list() == [ROWS[0]]
    assert {split.features == FEATURES for split in clean.values()} == {True}
    cleaned(f"{folder}/test", tmp_path / "one", {})
    assert list(loaded(tmp_path / "one")) == ["train"]


def test_the_name_of_a_split_that_was_recorded_is_kept(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"text": "x"}\n')
    made = datasets.load_dataset(
        "json", data_files={"test": str(tmp_path / "x.jsonl")}, cache_dir=str(tmp_path / "cache")
    )
    cleaned(saved(made["test"], tmp_path / "d"), tmp_path / "out", {})
    assert list(loaded(tmp_path / "out")) == ["test"]


def test_a_split_that_could_not_be_loaded_is_refused(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(datasets.DatasetDict({"train": dataset, "a-test": dataset}), tmp_path / "dd")
    with pytest.raises(InputError, match="'a-test' is no name of a split that load_dataset takes"):
        cleaned(folder, tmp_path / "out", {})
    assert cleaned(f"{folder}/a-test", tmp_path / "out", {}) == [str(tmp_path / "out/data/train-00000-of-00001.arrow")]


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
    cleaned(folder, tmp_path / "out", {}, note)
    found = loaded(tmp_path / "out")["train"]
    values = {"cluster": "int64", "keeper": dtype, "similarity": "float64"}
    assert found.features == {**FEATURES, **{name: datasets.Value(each) for name, each in values.items()}}
    assert found.remove_columns(list(values)).to_list() == ROWS
    expected = dict(zip([2, 8, 11], zip([7, 7, 1], keeper.to_pylist(), [0.5, 1.0, None], strict=True), strict=True))
    for i, row in enumerate(found, start=1):
        assert (row["cluster"], row["keeper"], row["similarity"]) == expected.get(i, (None, None, None))


def test_an_annotation_of_columns_that_exist_takes_other_names(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset.rename_column("label", "cluster"), tmp_path / "d")
    note = Annotation(rows_of(1), rows_of(1), pa.array([100], pa.int64()), np.array([1.0]))
    cleaned(folder, tmp_path / "out", {}, note)
    added = loaded(tmp_path / "out")["train"].column_names[-3:]
    assert added == ["neardup_cluster", "neardup_keeper", "neardup_similarity"]


def test_rows_that_are_not_there_mean_a_changed_dataset(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset, tmp_path / "d")
    with pytest.raises(InputError, match="was changed since it was read: of 2 documents to find again, 1"):
        cleaned(folder, tmp_path / "out", {"d": (3, 12)})
    assert os.listdir(tmp_path) == ["d"]


def test_nothing_is_written_over(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset, tmp_path / "d")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    for place in (tmp_path / "full", Path(folder)):
        with pytest.raises(InputError, match=r"exists, and a dataset is a folder of its own. Give -o a new folder"):
            cleaned(folder, place, {"d": (1,)})
    assert os.listdir(tmp_path / "full") == ["mine.txt"]
    with pytest.raises(OutputError, match="Make the folder first"):
        cleaned(folder, tmp_path / "no" / "such", {"d": (1,)})
    (tmp_path / "empty").mkdir()
    cleaned(folder, tmp_path / "empty", {"d": (1,)})
    assert len(loaded(tmp_path / "empty")["train"]) == 10


def test_a_run_that_was_stopped_goes_on_with_the_shards_that_are_left(
    tmp_path: Path, dataset: datasets.Dataset
) -> None:
    folder = saved(dataset, tmp_path / "d", num_shards=3)
    done: dict[str, int] = {}
    with pytest.raises(KeyboardInterrupt):
        cleaned(folder, tmp_path / "out", {"d": (1, 5)}, keep_parts=True, on_file_done=stopping_after(2, done))
    assert [path.suffix for path in (tmp_path / "out/data").iterdir()] == [".neardup-part"] * 2
    again: dict[str, int] = {}
    cleaned(folder, tmp_path / "out", {"d": (1, 5)}, done=done, on_file_done=again.__setitem__)
    assert [Path(name).name for name in again] == ["train-00002-of-00003.arrow"]
    assert loaded(tmp_path / "out")["train"].to_list() == without(1, 5)


def stopping_after(count: int, done: dict[str, int]) -> Callable[[str, int], None]:
    """Ctrl-C when so many copies are complete."""

    def on_file_done(name: str, size: int) -> None:
        done[name] = size
        if len(done) == count:
            raise KeyboardInterrupt

    return on_file_done


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset, tmp_path / "d", num_shards=2)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OutputError, match=r"cannot write .*train-00000-of-00002.arrow: File too large"):
            cleaned(folder, tmp_path / "out", {"d": (1,)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert os.listdir(tmp_path) == ["d"]


def test_a_column_that_is_not_there_is_named(tmp_path: Path, dataset: datasets.Dataset) -> None:
    folder = saved(dataset, tmp_path / "d")
    with pytest.raises(InputError, match=r"there is no column 'txt' for --text.* Did you mean 'text'"):
        read(folder, text="txt")
