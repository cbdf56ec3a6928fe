"""What a command loads before it begins: no pandas that nobody asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

WATCH = """
import os, sys, traceback
class NoPandas:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            print("pandas is imported by", *[each.filename for each in traceback.extract_stack()][-6:])
        return None
sys.meta_path.insert(0, NoPandas())
import numpy
from neardup.kernels import graph
graph.components(numpy.array([0]), numpy.array([1]), 2)  # what all commands load of numba, watched as well
from neardup.cli import main
for line in sys.stdin.read().splitlines():
    child = os.fork()  # pyarrow looks for pandas once a process
    if child == 0:
        try:
            main([*line.split(), "--quiet"], standalone_mode=False)
        except BaseException as exc:
            print(line, repr(exc))
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
"""
COMMANDS = """
find texts.jsonl -o pairs.jsonl
find texts.csv -o pairs.csv --clusters clusters.csv
find texts.parquet -o pairs.parquet --clusters clusters.parquet
find texts.arrow -o pairs.csv
find folder -o pairs.jsonl
find sets.parquet --shingle item -o pairs.jsonl
find texts.jsonl --exact -o pairs.jsonl
find texts.jsonl --measure containment -o pairs.jsonl
find texts.jsonl --against texts.csv -o pairs.jsonl
dedup texts.jsonl -o clean.jsonl --removed removed.csv
dedup texts.csv -o clean.csv --removed removed.parquet --keep max:n
dedup texts.parquet -o clean.parquet --removed removed.jsonl --keep max:n
dedup texts.arrow -o clean.arrow
report texts.jsonl -o report
find texts.jsonl -o before.jsonl
report texts.jsonl -o again --pairs before.jsonl
audit texts.jsonl --json
plan texts.jsonl --json
compare folder/0.txt folder/1.txt --json
index build seen.index texts.jsonl
index query seen.index texts.jsonl -o answers.csv
index query seen.index texts.jsonl -o answers.jsonl --top 1
index pairs seen.index -o pairs.csv
index add seen.index texts.csv --on-duplicate skip
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each command runs in a fork")
def test_no_command_imports_pandas(tmp_path: Path):
    pytest.importorskip("pandas")
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    rows = [
        {"id": f"x{i}", "text": f"Minutes of day {i // 2}, with the notes of all who came.", "n": i} for i in range(20)
    ]
    table = pa.Table.from_pylist(rows)
    pyarrow.csv.write_csv(table, tmp_path / "texts.csv")
    pyarrow.parquet.write_table(table, tmp_path / "texts.parquet")
    pyarrow.feather.write_feather(table, str(tmp_path / "texts.arrow"), compression="uncompressed")
    sets = pa.Table.from_pylist([{"id": row["id"], "text": str(row["text"]).split()} for row in rows])
    pyarrow.parquet.write_table(sets, tmp_path / "sets.parquet")
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (tmp_path / "folder").mkdir()
    for i, row in enumerate(rows[:4]):
        (tmp_path / "folder" / f"{i}.txt").write_text(str(row["text"]), "utf-8")
    command = [sys.executable, "-c", WATCH]
    run = subprocess.run(command, input=COMMANDS.strip(), cwd=tmp_path, capture_output=True, text=True, check=False)
    said = [line for line in run.stdout.splitlines() if line and not line.startswith(("{", "}", " "))]
    assert (run.returncode, run.stderr, said) == (0, "", [])
