"""One collection, given in every way there is, gives the same pairs and clusters."""

from __future__ import annotations

import csv
import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from tests.oracles.results import groups, pair_map

import neardup

Documents = dict[str, str]


def documents() -> Documents:
    """300 documents, a third of them edits; quotes, commas, accents and other scripts inside."""
    rng = random.Random(8)
    words = [
        "naïve",
        "日本語",
        'a "quoted" word',
        "one, two",
        "straße",
        "x\\y",
        "emoji 👍🏽",
        *(f"w{i}" for i in range(200)),
    ]
    texts = [" ".join(rng.choices(words, k=25)) for _ in range(200)]
    texts += [text.replace(" w1", " v1", 1) + " end" for text in texts[:100]]
    rng.shuffle(texts)
    return {f"id {i}": text for i, text in enumerate(texts)}


def table(rows: Documents) -> pa.Table:
    return pa.table({"id": list(rows), "text": list(rows.values())})


def jsonl_bytes(rows: Documents) -> bytes:
    return "".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in rows.items()).encode()


def as_jsonl(rows: Documents, folder: Path) -> Path:
    (folder / "a.jsonl").write_bytes(jsonl_bytes(rows))
    return folder / "a.jsonl"


def as_raw_jsonl(rows: Documents, folder: Path) -> Path:
    lines = (json.dumps({"id": i, "text": t}, ensure_ascii=False) + "\n" for i, t in rows.items())
    (folder / "a.ndjson").write_text("".join(lines), encoding="utf-8")
    return folder / "a.ndjson"


def as_jsonl_gz(rows: Documents, folder: Path) -> Path:
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(jsonl_bytes(rows)))
    return folder / "a.jsonl.gz"


def as_jsonl_zst(rows: Documents, folder: Path) -> Path:
    (folder / "a.jsonl.zst").write_bytes(pa.compress(jsonl_bytes(rows), codec="zstd", asbytes=True))
    return folder / "a.jsonl.zst"


def as_csv(rows: Documents, folder: Path) -> Path:
    with (folder / "a.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["id", "text"])
        writer.writerows(rows.items())
    return folder / "a.csv"


def as_tsv(rows: Documents, folder: Path) -> Path:
    with (folder / "a.tsv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter="\t")
        writer.writerow(["id", "text"])
        writer.writerows(rows.items())
    return folder / "a.tsv"


def as_parquet(rows: Documents, folder: Path) -> Path:
    pa.parquet.write_table(table(rows), folder / "a.parquet", row_group_size=70)
    return folder / "a.parquet"


def as_feather(rows: Documents, folder: Path) -> Path:
    pa.feather.write_feather(table(rows), folder / "a.feather")
    return folder / "a.feather"


def as_two_kinds_of_file(rows: Documents, folder: Path) -> list[Path]:
    items = list(rows.items())
    return [as_jsonl(dict(items[:120]), folder), as_parquet(dict(items[120:]), folder)]


def as_chunks(rows: Documents, folder: Path) -> pa.Table:
    whole = table(rows)
    return pa.concat_tables([whole.slice(0, 7), whole.slice(7, 0), whole.slice(7, 200), whole.slice(207)])


def as_large_strings(rows: Documents, folder: Path) -> pa.Table:
    return table(rows).cast(pa.schema({"id": pa.large_string(), "text": pa.large_string()}))


def as_dictionary(rows: Documents, folder: Path) -> pa.Table:
    whole = table(rows)
    return whole.set_column(1, "text", whole["text"].dictionary_encode())


def as_views(rows: Documents, folder: Path) -> pa.Table:
    return table(rows).cast(pa.schema({"id": pa.string_view(), "text": pa.string_view()}))


def as_pandas(rows: Documents, folder: Path) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"id": list(rows), "text": list(rows.values())})


def as_polars(rows: Documents, folder: Path) -> Any:
    polars = pytest.importorskip("polars")
    return polars.DataFrame({"id": list(rows), "text": list(rows.values())})


FORMS: list[Callable[[Documents, Path], Any]] = [
    as_jsonl, as_raw_jsonl, as_jsonl_gz, as_jsonl_zst, as_csv, as_tsv, as_parquet, as_feather,
    as_two_kinds_of_file, as_chunks, as_large_strings, as_dictionary, as_views, as_pandas, as_polars,
    lambda rows, folder: rows,
    lambda rows, folder: list(rows.items()),
    lambda rows, folder: iter(rows.items()),
    lambda rows, folder: table(rows).to_reader(),
]  # fmt: skip
NAMES = [form.__name__.strip("<>") for form in FORMS[:-4]] + [
    "mapping",
    "list of pairs",
    "iterator",
    "stream",
]


@pytest.mark.parametrize("form", FORMS, ids=NAMES)
def test_every_form_of_input_gives_the_same_pairs_and_clusters(tmp_path: Path, form):
    rows = documents()
    expected = neardup.find(table(rows), threshold=0.6, shingle="char:5")
    result = neardup.find(form(rows, tmp_path), threshold=0.6, shingle="char:5")
    assert expected.pairs.num_rows >= 95
    assert pair_map(result.pairs) == pair_map(expected.pairs)
    assert groups(result.clusters) == groups(expected.clusters)
    assert result.spec.id == expected.spec.id
    assert result.summary.documents == len(rows)


def test_a_list_of_texts_and_a_folder_of_files_give_the_same_pairs(tmp_path: Path):
    texts = list(documents().values())
    for i, text in enumerate(texts):
        (tmp_path / f"{i:04}.txt").write_bytes(text.encode())
    listed = pair_map(neardup.find(texts, threshold=0.6, shingle="char:5").pairs)
    files = neardup.find(tmp_path, threshold=0.6, shingle="char:5").pairs
    row = {i: int(Path(i).stem) for i in files["id_a"].to_pylist() + files["id_b"].to_pylist()}
    assert {frozenset(row[i] for i in pair): s for pair, s in pair_map(files).items()} == listed


@pytest.mark.parametrize("column", [pa.large_list(pa.int64()), pa.list_(pa.int32()), pa.list_(pa.string())])
def test_sets_in_every_form_give_the_same_pairs(tmp_path: Path, column: pa.DataType):
    rng = random.Random(2)
    rows = [sorted(rng.sample(range(1000), 20)) for _ in range(100)]
    rows += [[*row[:-1], 1000 + row[-1]] for row in rows[:60]]
    expected = pair_map(neardup.find(rows, shingle="item", threshold=0.7).pairs)
    (tmp_path / "sets.txt").write_text("".join(" ".join(map(str, row)) + "\n" for row in rows))
    (tmp_path / "sets.jsonl").write_text(
        "".join(json.dumps({"id": i, "text": row}) + "\n" for i, row in enumerate(rows))
    )
    values = [list(map(str, row)) for row in rows] if pa.types.is_string(column.value_type) else rows
    arrow = pa.table({"id": range(len(rows)), "text": pa.array(values, column)})
    assert len(expected) >= 59
    assert pair_map(neardup.find(arrow, shingle="item", threshold=0.7).pairs) == expected
    assert pair_map(neardup.find(tmp_path / "sets.jsonl", shingle="item", threshold=0.7).pairs) == expected
    lines = pair_map(neardup.find(tmp_path / "sets.txt", shingle="item", threshold=0.7).pairs)
    by_line = {frozenset(int(str(i).rpartition(":")[2]) - 1 for i in pair): s for pair, s in lines.items()}
    assert by_line == expected


def test_sets_of_python_are_the_same_as_lists():
    rows = [{1, 2, 3, 4}, frozenset([4, 3, 2, 1]), [1, 2, 3, 4, 4], (5, 6)]
    assert pair_map(neardup.find(rows, shingle="item").pairs).keys() == {frozenset(p) for p in ((0, 1), (0, 2), (1, 2))}


def test_duckdb_relations_come_in():
    duckdb = pytest.importorskip("duckdb")
    frame = table(documents())
    connection = duckdb.connect()
    connection.register("frame", frame)
    relation = connection.sql("select * from frame")
    found = neardup.find(relation, threshold=0.6, shingle="char:5")
    assert pair_map(found.pairs) == pair_map(neardup.find(frame, threshold=0.6, shingle="char:5").pairs)
