"""Make the fixture ``index-vN``: an index that every later version must open, and what it must answer.

    python -m tests.golden.make_index

Run it once for each format version, from the root of the repository, when the version is released; never again after.
The documents are abstracts of ``examples/``. What is expected comes from the oracle, which knows nothing of the index.
The index is left as a closed one can be: a segment, documents in no segment yet, removed and replaced ones.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from tests.oracles.index import NaiveIndex

from neardup import Index

HERE = Path(__file__).resolve().parent
ABSTRACTS = HERE.parents[1] / "examples" / "abstracts.jsonl"
THRESHOLD, SHINGLE, NORMALIZE = 0.4, "word:2", "nfkc,casefold,space"
DOCUMENTS = 18
FIRST = 12
"""Documents that the segment covers."""


def documents() -> list[tuple[int | str, str]]:
    """Abstracts, every fifth under a number; one empty document and one shorter than a shingle."""
    with ABSTRACTS.open(encoding="utf-8") as lines:
        records = [json.loads(line) for line, _ in zip(lines, range(DOCUMENTS), strict=False)]
    named: list[tuple[int | str, str]] = [
        (number if number % 5 == 0 else record["id"], record["text"]) for number, record in enumerate(records)
    ]
    return [*named, ("empty", " \n"), ("short", "Ünique")]


def columns_of(id: int | str) -> dict[str, object] | None:
    """Columns for most documents, those of numbers with two kinds of values."""
    if id == "empty":
        return None
    return {"number": id, "is_even": id % 2 == 0} if isinstance(id, int) else {"source": "arXiv é"}


def write(path: Path) -> NaiveIndex:
    """Make the index, and its twin beside it."""
    naive = NaiveIndex(THRESHOLD, SHINGLE, NORMALIZE)
    ids, texts = (list(column) for column in zip(*documents(), strict=True))
    changed = [texts[3] + " With a sentence that was added.", texts[9]]
    with Index.create(path, threshold=THRESHOLD, shingle=SHINGLE, normalize=NORMALIZE) as index:
        naive.add(ids[:FIRST], texts[:FIRST])
        index.add(ids[:FIRST], texts[:FIRST], list(map(columns_of, ids[:FIRST])))
        for both in (index, naive):
            both.remove(ids[4:6])
        index.compact()
        naive.add(ids[FIRST:], texts[FIRST:])
        index.add(ids[FIRST:], texts[FIRST:], list(map(columns_of, ids[FIRST:])))
        naive.add([ids[3], ids[8]], changed, on_duplicate="replace")
        index.add([ids[3], ids[8]], changed, [columns_of(ids[3]), columns_of(ids[8])], on_duplicate="replace")
        for both in (index, naive):
            both.remove([ids[1], ids[16]])
    return naive


def questions(naive: NaiveIndex) -> list[str]:
    """All texts that are there, two that are no more, and one that has no partner."""
    gone = [documents()[place][1] for place in (1, 3)]
    return [*map(str, naive.texts), *gone, "nothing like it in there"]


def main() -> None:
    """Write the fixture; fail unless the index of today answers as the oracle does."""
    place = HERE / "new-index"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    naive = write(place / "index")
    with Index.open(place / "index", read_only=True) as index:
        version = index.info().format
        expected = {
            "documents": [
                {"id": entry.id, "text": entry.text, **({"columns": columns} if columns else {})}
                for entry in naive.entries.values()
                for columns in [columns_of(entry.id)]
            ],
            "further questions": questions(naive)[len(naive) :],
            "hits": [naive.query(text) for text in questions(naive)],
            "pairs": sorted([*sorted(pair), similarity] for pair, similarity in naive.pairs().items()),
            "spec": index.spec.as_dict(),
        }
        found = [[(hit.id, hit.similarity) for hit in hits] for hits in index.query(questions(naive), top=None)]
        assert found == expected["hits"]
        assert index.info().segments == 1
        assert index.info().segment_documents < len(naive) + index.info().removed
    for name in ("index.sqlite-wal", "index.sqlite-shm"):
        (place / "index" / name).unlink(missing_ok=True)
    with closing(sqlite3.connect(place / "index" / "index.sqlite")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    (place / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    target = HERE / f"index-v{version}"
    if target.exists():
        sys.exit(f"{target} is there: the fixture of a version is made once. Remove it first if it was never released.")
    place.rename(target)


if __name__ == "__main__":
    main()
