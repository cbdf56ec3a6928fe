"""Records of CSV and TSV read again by their places give the texts that were read first."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.reading import zstd

import neardup
from neardup.errors import InputChanged
from neardup.inputs.reader import open_inputs

BAD = [b'5,"open\n', b'6,"x"y\n', b"7\n", b"\n", b"\r\n", b"8,\xff\n"]


def written(path: Path, *, seed: int = 1, n: int = 700, bad: bool = True) -> Path:
    chosen = random.Random(seed)
    out = io.BytesIO(b"\xef\xbb\xbf" if seed % 2 else b"")
    out.seek(0, 2)
    for i in range(n):
        text = "".join(chosen.choice(["word ", "\n", ", ", '"q" ', "é", "\r\n"]) for _ in range(chosen.randrange(9)))
        line = io.StringIO()
        csv.writer(line, lineterminator=chosen.choice(["\n", "\r\n"])).writerow([f"d{i}", text])
        out.write(b"id,text\n" if i == 0 else b"")
        out.write(line.getvalue().encode())
        if bad and chosen.random() < 0.1:
            out.write(chosen.choice(BAD))
    path.write_bytes(out.getvalue() + b'last,"the end"')
    return path


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("block", [None, 50])
def test_any_records_can_be_read_again(tmp_path: Path, seed: int, block: int | None) -> None:
    path = written(tmp_path / "x.csv", seed=seed)
    reader = open_inputs(path, on_bad="skip", block=block)
    batches = [task() for task in reader.tasks()]
    assert sum(len(batch.documents) for batch in batches) > 600
    for batch in batches:
        assert batch.places is not None
        origin, starts, stops = batch.places
        facts = json.loads(json.dumps(origin.facts))
        texts = [batch.documents.blob(i) for i in range(len(batch.documents))]
        some = np.flatnonzero(np.random.default_rng(seed).random(len(texts)) < 0.4)
        for each in (np.arange(len(texts)), some, some[:1]):
            for again in (origin, *reader.reopened([facts])):
                documents = again.read(starts[each], stops[each])
                assert [documents.blob(i) for i in range(len(documents))] == [texts[i] for i in each]


def test_several_columns_and_fields_in_quotes_of_tsv(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('a,id,b\none,1,"two\nlines"\n"three, and",2,\n')
    (batch,) = (task() for task in open_inputs(path, text="a,b").tasks())
    assert batch.places is not None
    documents = batch.places.origin.read(batch.places.starts, batch.places.stops)
    assert [documents.blob(i) for i in range(2)] == [b"one\ntwo\nlines", b"three, and"]
    path = tmp_path / "x.tsv"
    path.write_text('id\ttext\n1\t"abc\n2\tplain\n')  # whether the quote counts is told by what follows the record
    (batch,) = (task() for task in open_inputs(path).tasks())
    assert batch.places is None
    path.write_text("id\ttext\n1\tone\n2\ttwo\n")
    (batch,) = (task() for task in open_inputs(path).tasks())
    assert batch.places is not None
    assert batch.places.origin.read(batch.places.starts[1:], batch.places.stops[1:]).blob(0) == b"two"


def test_packed_and_changed_files(tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", bad=False)
    packed = tmp_path / "x.csv.zst"
    packed.write_bytes(zstd(path.read_bytes()))
    assert all(task().places is None for task in open_inputs(packed).tasks())
    (batch,) = (task() for task in open_inputs(path).tasks())
    assert batch.places is not None
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(InputChanged, match=r"x\.csv was changed"):
        batch.places.origin.read(batch.places.starts, batch.places.stops)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_is_found_in_csv_and_in_the_lines_of_json(tmp_path: Path, threads: int) -> None:
    chosen = random.Random(5)
    words = ["alpha", "beta", "gamma", "delta", "with, comma", 'with "quotes"', "two\nlines"]
    texts = [" ".join(chosen.choice(words) + str(chosen.randrange(60)) for _ in range(60)) for _ in range(150)]
    texts += [text.replace("alpha", "alphb", 1) for text in texts[:60]]
    rows: list[dict[str, Any]] = [{"id": f"d{i}", "text": text} for i, text in enumerate(texts)]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with (tmp_path / "x.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["id", "text"])
        writer.writeheader()
        writer.writerows(rows)
    lines, table = (neardup.find(tmp_path / name, threads=threads) for name in ("x.jsonl", "x.csv"))
    assert lines.pairs.num_rows > 20
    assert table.pairs.equals(lines.pairs)
    assert table.clusters.equals(lines.clusters)
