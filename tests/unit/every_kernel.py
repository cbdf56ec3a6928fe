"""Small work that calls every kernel, and its answers: ``python -m tests.unit.every_kernel FOLDER`` prints them.

Run as a program it also says which kernels there are and were not called.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TEXTS = [
    f"On day {i // 3} the committee met and agreed to print the minutes of inquiry {i // 3}, with notes.{'!' * (i % 3)}"
    for i in range(12)
]
TEXTS += [TEXTS[0], TEXTS[0][20:70], "short", "", "日本語のテキスト and more", "日本語のテキスト and \u0301more"]
TEXTS += ["Cafe\u0301 and \u1112\u1161\u11ab, written apart"]
ITEMS = [[str(i) for i in range(n, n + 40)] for n in (0, 2, 4, 100)]
SEARCHES: dict[str, dict[str, Any]] = {
    "banded": {},
    "exact": {"exact": True},
    "containment": {"measure": "containment"},
    "crowds joined": {"exact": True, "crowd": 2},
    "crowds contained": {"measure": "containment", "crowd": 2},
    "texts compared": {"verify": "text"},
    "words": {"shingle": "word:2", "normalize": "nfkc,casefold,punct,space"},
    "bytes": {"shingle": "byte:20", "crowd": 2},
    "characters": {"shingle": "char:3", "normalize": "nfkc"},
    "independent": {"sketch": "independent"},
    "universal": {"sketch": "universal"},
    "permutation": {"sketch": "permutation"},
    "one-permutation": {"sketch": "one-permutation"},
}


def crowds() -> list[Any]:
    """What the kernels for places beyond the memory say of a few windows."""
    import numpy as np

    from neardup.kernels import crowds, vocabulary

    data = np.frombuffer(b"a rose is a rose is a rose" + bytes(64), dtype=np.uint8).copy()
    windows, none = np.empty((19, 2), dtype=np.uint64), np.zeros(1, dtype=np.int64)
    key = tuple(np.uint64(odd) for odd in (5, 2**61 + 7, 2**60 + 9, 2**59 + 11))
    crowds.hash_windows(data, none, none, none + 18, 1, 8, key, windows)
    of, cells, hashes, facts = np.empty(19, np.int64), np.full(64, -1), np.empty(19, np.uint64), np.empty((19, 4), int)
    documents = np.zeros(19, dtype=np.int64)
    known = crowds.tally_windows(windows, documents, documents + 1, cells, hashes, facts, 0, of)
    vocabulary.place_words(hashes[:known], np.full(64, -1))
    same = crowds.all_same(data, none, data, none + 10, 8)
    return [of.tolist(), facts[:known].tolist(), bool(same)]


def answers(folder: Path) -> dict[str, Any]:
    """What neardup says of a few texts, as JSON has it."""
    import neardup

    found: dict[str, Any] = {}
    for name, how in SEARCHES.items():
        result = neardup.find(TEXTS, threshold=0.5, threads=1, **how)
        found[name] = result.pairs.to_pylist(), result.clusters.to_pylist()
    folded = {"shingle": "char:5", "normalize": "casefold,punct,space"}
    found["ASCII"] = neardup.find(TEXTS[:12], threshold=0.5, threads=1, **folded).pairs.to_pylist()
    found["items"] = neardup.find(ITEMS, shingle="item", threshold=0.5, threads=1).pairs.to_pylist()
    found["connected"] = neardup.find(TEXTS, link="connected", threshold=0.5, threads=1).clusters.to_pylist()
    found["dedup"], _ = neardup.dedup(TEXTS, threshold=0.5, threads=1)
    audited = neardup.audit(TEXTS, threshold=0.5, documents=5, threads=1).as_dict()
    found["audit"] = {name: value for name, value in audited.items() if name != "seconds"}
    compared = neardup.compare(TEXTS[0], TEXTS[1])
    found["compare"] = compared.jaccard, compared.estimate
    lines = folder / "texts.jsonl"
    lines.write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(TEXTS)), "utf-8")
    table = folder / "texts.csv"
    table.write_text("id,text\n" + "".join(f'{i},"{text}"\n' for i, text in enumerate(TEXTS)), "utf-8")
    plain = folder / "texts.txt"
    plain.write_text("\n".join(TEXTS), "utf-8")
    for path in (lines, table, plain):
        found[path.suffix] = neardup.find(path, threshold=0.5, threads=1).pairs.to_pylist()
        neardup.dedup(path, output=folder / f"clean{path.suffix}", threshold=0.5, threads=1)
        found[f"clean{path.suffix}"] = (folder / f"clean{path.suffix}").read_text("utf-8")
    on_disk = neardup.find(lines, threshold=0.5, threads=1, workdir=folder / "work")  # nothing is at hand then
    found["on disk"] = on_disk.pairs.to_pylist()
    with neardup.Index.create(folder / "index", threshold=0.5) as index:
        for first in range(0, len(TEXTS), 4):
            index.add([f"{i}" for i in range(first, first + 4)][: len(TEXTS) - first], TEXTS[first : first + 4])
        index.compact()
        found["index"] = [[(hit.id, hit.similarity) for hit in index.query(text)] for text in TEXTS]
    repeated = neardup.passages([text * 2 for text in TEXTS] + [" " * 300], min_bytes=20, threads=1)
    found["passages"] = repeated.spans.to_pylist(), repeated.cut().to_pylist()
    many = " ".join(f"word{i}" for i in range(40))  # more than the table of words has room for at first
    words = neardup.passages([*TEXTS, many, many], min_words=4, normalize="casefold", threads=1)
    found["passages of words"] = words.spans.to_pylist()
    chosen = [text * 3 for text in TEXTS[:8]]
    for how in ({"against": TEXTS[:3], "min_docs": 2}, {"group_by": "[0-4]$", "min_count": 5}):
        found[f"passages by {sorted(how)}"] = neardup.passages(chosen, min_bytes=20, threads=1, **how).spans.to_pylist()
    lines = neardup.passages(["\n".join(TEXTS[:4]), "\r\n".join(TEXTS[2:6])], unit="line", span=2, threads=1)
    found["passages of lines"] = lines.spans.to_pylist(), lines.cut().to_pylist()
    for least in ({"min_chars": 9}, {"min_words": 2}):
        some = neardup.passages(TEXTS * 2, unit="sentence", **least, threads=1)
        found[f"passages of sentences, {least}"] = some.spans.to_pylist()
    changed = [text.replace("committee", "comittee") if i % 2 else text for i, text in enumerate(TEXTS[:12])]
    for name, how in (("changed", {"min_bytes": 40}), ("changed words", {"min_words": 6})):
        found[name] = neardup.passages(changed, gaps=12, threads=1, **how).spans.to_pylist()
    normalised = neardup.passages([*TEXTS, *TEXTS], min_bytes=20, normalize="nfkc,casefold,space", threads=1)
    found["passages of normalised text"] = normalised.spans.to_pylist()
    found["crowds"] = crowds()
    found |= direct()
    loaded: dict[str, Any] = json.loads(json.dumps(found, default=str))
    return loaded


def direct() -> dict[str, Any]:
    """What kernels say that small work calls no longer or not yet: large records, broken bytes, pairs of signatures."""
    import numpy as np

    from neardup.kernels import banding, delimited, integers, utf8
    from neardup.params import Shingle
    from neardup.stages.all_pairs import pairs_above
    from neardup.stages.shingle import Hasher, build_padded
    from neardup.stages.verify import chunks
    from neardup.types import Documents

    data = np.frombuffer(b'a\t"b ""c"" \n d\n' + "né\xff".encode("latin-1") + bytes(64), dtype=np.uint8).copy()
    state = np.array([delimited.START, 0, 0])
    values = np.array([[1, 2, 3, 4], [1, 2, 3, 5], [9, 9, 3, 4]], dtype=np.uint32)
    left, right, first, same = np.array([0, 0, 1]), np.array([1, 2, 2]), np.zeros(3, np.int64), np.zeros(3, np.int64)
    banding.first_bands(values, left, right, 2, 2, first, same)
    keys, rows, weight = np.array([[k, 9, 1, 2, 3] for k in (7, 200, 7)], np.uint8), np.arange(3), np.ones(3, np.int32)
    counts, load = np.zeros((2, 1 << 16), dtype=np.int64)
    banding.weigh_ranges(keys, rows.astype(np.uint32), weight, counts, load)
    halves, spread = (np.arange(1 << 16) >> 15).astype(np.uint16), (np.zeros(3, np.uint32), np.zeros((3, 5), np.uint8))
    banding.spread_ranges(keys, rows.astype(np.uint32), halves, np.array([0, 2]), *spread)
    numbers, starts = np.array([0, -7, 99, 100, 10**18, -(1 << 63)]), np.array([0, 2, 2, 6])
    joined, ends = np.zeros(200, dtype=np.uint8), np.zeros(4, dtype=np.int64)
    for array in (numbers, starts):
        array.flags.writeable = False
    integers.join_integers(numbers, starts, joined, ends)
    sets = build_padded(Documents.from_texts(TEXTS), Hasher(Shingle.parse("char:5"), 1))
    return (
        _told_apart()
        | _sketched_otherwise()
        | {
            "all pairs": [side.tolist() for side in pairs_above(sets, 0.05)],
            "sets": [joined.tolist(), ends.tolist()],
            "record": [delimited.follow_record(data, 0, 15, 9, True, state), delimited.unclosed_field(data, 15, 9)],
            "lines": _written(),
            "utf8": [utf8.is_ascii(data, 0, 15), utf8.is_ascii(data, 0, 20)],
            "ranges": [np.flatnonzero(counts).tolist(), load.max(), *(each.tolist() for each in spread)],
            "first bands": [first.tolist(), same.tolist()],
            "chunks": [chunk.pairs.tolist() for chunk in chunks(left, right, abs, abs, budget=2)],
        }
    )


def _written() -> str:
    """A table of pairs as text: documents by their rows, a batch of each kind of ids, and cells."""
    import numpy as np
    import pyarrow as pa

    from neardup.arrays import numbers, strings
    from neardup.inputs.names import Ids
    from neardup.outputs import write
    from neardup.outputs.rows import RowTable
    from neardup.types import Batch, Documents

    ids, documents = Ids(), Documents.from_texts(["", ""])
    for brought in (None, strings(["a", "an id of many letters"]), numbers(np.array([7, -(1 << 63)]))):
        ids.append(Batch(documents, "f.txt", np.array([3, 10**9]), brought))
    schema = pa.schema([("id_a", ids.type), ("id_b", ids.type), ("similarity", pa.float64())])
    pieces = iter([[np.arange(6), np.arange(6)[::-1], numbers(np.arange(6) / 4)]])
    return b"".join(map(bytes, write._lines(schema, RowTable(schema, ids, pieces), "csv"))).decode()


def _told_apart() -> dict[str, Any]:
    """What documents share beside what many hold, and the partners of two of them by the shingles that they keep."""
    import numpy as np

    from neardup.params import Shingle
    from neardup.stages import partners, sharing, shingle
    from neardup.types import Documents

    hasher = shingle.Hasher(Shingle.parse("char:5"), 1)
    documents = Documents.from_bytes([text.encode() for text in TEXTS[:6]])
    rows, counts = np.arange(6), np.array([len(text) for text in TEXTS[:6]])
    tally = sharing.Tally(1000)
    tally.see(documents, rows, hasher)
    few = sharing.few_of(documents, rows, rows, counts, hasher, tally, most=3)
    kept = sharing.KeptTally(1 << 12)
    kept.see(few)
    few = kept.shared(few)
    index = sharing.Sharing(few, 0.5)
    pairs = [(left.tolist(), right.tolist()) for left, right in index.pairs(few, floor=1)]
    commonness = partners.Commonness.of(0.5, 1000)
    commonness.see(documents, rows, hasher)
    sets = shingle.build_sets(Documents.from_bytes([text.encode() for text in TEXTS[:2]]), hasher, counts[:2])
    audited = partners.build_index(sets, rows[:2], 2, commonness=commonness, threshold=0.5)
    block = partners.Block(rows, rows, counts, np.zeros(6, dtype=np.bool_))
    found = partners.find_candidates(documents, block, audited, partners.new_scratch(audited), hasher)
    return {"told apart": [pairs, index.numbers(few).tolist()], "partners": [column.tolist() for column in found]}


def _sketched_otherwise() -> dict[str, Any]:
    """What the door for programs of datasketch makes of the texts."""
    from neardup.compat.datasketch import HyperLogLog, MinHash, WeightedMinHashGenerator

    counter = HyperLogLog(p=4)
    for text in TEXTS:
        counter.update(text.encode())
    weighted = WeightedMinHashGenerator(3, sample_size=4).minhash([2, 0, 5])
    tokens = [[word.encode() for word in text.split()] for text in TEXTS[:3]]
    return {
        "weighted": weighted.hashvalues.tolist(),
        "registers": counter.reg.tolist(),
        **{
            scheme: [each.hashvalues.tolist() for each in MinHash.bulk(tokens, num_perm=4, scheme=scheme)]
            for scheme in ("legacy", "affine32", "affine64")
        },
    }


def main() -> None:
    """Print the answers, and the names of kernels that were not called."""
    from neardup.native import declare

    missing: set[str] = set()
    plain = declare.kernel

    def recorded(*types: Any) -> Any:
        return lambda function: noted(plain(*types)(function), function)

    def noted(made: Any, function: Any) -> Any:
        name = f"{function.__module__.removeprefix('neardup.kernels.')}.{function.__name__}"
        missing.add(name)

        def call(*arguments: Any) -> Any:
            missing.discard(name)
            return made(*arguments)

        return call

    if not declare.BY_NUMBA:  # which compiles kernels into others, and could not compile ``call``
        declare.kernel = recorded
    print(json.dumps({"answers": answers(Path(sys.argv[1])), "missing": sorted(missing)}))


if __name__ == "__main__":
    main()
