"""The indexes that `index_compare.py` compares, each used as its own documentation says, with the same methods.

Nearly all take character 9-shingles and 21 bands of 6 rows, which find a pair at 0.8 with a probability of 0.998. With
`datasketch-own` the library chooses its bands, and `pg_trgm` compares trigrams of words.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gauge import SHINGLE, THRESHOLD, cpu_seconds, in_batches

BANDS, ROWS = 21, 6
SLOTS = BANDS * ROWS
TOP = 10
Found = list[tuple[Any, float | None]]


class Program:
    """An index in the memory of this process. Subclasses build, change and ask it."""

    package = ""
    says = "candidates"
    """The kind of the answers."""
    keeps = "memory only"
    """The part of the index that outlives the process."""

    def __init__(self, folder: Path) -> None:
        """Keep the folder, which is for this index alone and does not exist yet."""
        self.folder = folder
        self.pid = os.getpid()

    def version(self) -> str:
        """Return the name and version of the package."""
        return f"{self.package} {version(self.package)}"

    def warm_up(self) -> None:
        """Load or compile the code that the first call needs."""

    def build(self, source: Path) -> int:
        """Index the documents of a JSONL file from an empty index, and return their number."""
        number = 0
        for ids, texts in in_batches(source, 1000):
            self.add(list(range(number, number + len(ids))), ids, texts)
            number += len(ids)
        return number

    def add(self, rows: list[int], ids: list[str], texts: list[str]) -> None:
        """Add documents. A program whose ids are numbers takes the rows."""
        raise NotImplementedError

    def remove(self, rows: list[int], ids: list[str]) -> None:
        """Remove documents."""
        raise NotImplementedError

    def answer(self, text: str) -> Any:
        """Return the ids or rows of the ten best matches, or of all candidates if the program has no order."""
        raise NotImplementedError

    def everything(self, text: str) -> dict[str, Found]:
        """Return every match of a text with the similarity that the program gives, by the kind of answer."""
        return {self.says: [(found, None) for found in self.answer(text)]}

    def ways(self) -> dict[str, Callable[[Any], Any]]:
        """Return the ways to ask that are timed. The first is compared with neardup's first."""
        return {self.says: self.answer}

    def seen(self, text: str) -> bool | None:
        """Return whether the index has a match of a text; None if the program has no such question."""
        return None

    def writes(self) -> dict[str, Callable[[Any], Any]]:
        """Return the ways to ask that may add the text. They are timed on the crowd only."""
        return {}

    def disk(self) -> int:
        """Return the bytes of the index on disk."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    def close(self) -> None:
        """End the processes that were started."""


class Neardup(Program):
    """neardup itself, opened for writing."""

    package, says, keeps = "neardup", "exact J ≥ t", "yes, each call durable"

    def warm_up(self) -> None:
        import neardup

        names = [str(number) for number in range(5000)]
        texts = [f"a few words to load the kernels with, number {name} of them" for name in names]
        with tempfile.TemporaryDirectory() as folder:
            neardup.Index.build(Path(folder, "built"), list(zip(names, texts, strict=True)), threads=1).close()
            with neardup.Index.create(Path(folder, "made"), threads=1) as index:
                index.add(names, texts)
                index.query(texts[0])
                index.remove(names[:1])

    def build(self, source: Path) -> int:
        import neardup

        self.index = neardup.Index.build(self.folder, source, threads=1)
        return len(self.index)

    def create(self) -> None:
        """Begin an empty index."""
        import neardup

        self.index = neardup.Index.create(self.folder, threads=1)

    def add(self, rows: list[int], ids: list[str], texts: list[str]) -> None:
        self.index.add(ids, texts)

    def remove(self, rows: list[int], ids: list[str]) -> None:
        self.index.remove(ids)

    def answer(self, text: str) -> Any:
        return self.index.query(text)

    def everything(self, text: str) -> dict[str, Found]:
        return {self.says: [(hit.id, hit.similarity) for hit in self.index.query(text, top=None)]}

    def seen(self, text: str) -> bool | None:
        return self.index.seen(text) is not None if hasattr(self.index, "seen") else None

    def ways(self) -> dict[str, Callable[[Any], Any]]:
        index, ways = self.index, {self.says: self.answer}
        if hasattr(index, "seen"):
            ways["`seen`: one verified match or none"] = index.seen
        return {
            **ways,
            "`top=1`": lambda text: index.query(text, top=1),
            "`exact=False`: candidates": lambda text: index.query(text, exact=False),
        }

    def writes(self) -> dict[str, Callable[[Any], Any]]:
        return {"`add_if_new`": lambda text: self.index.add_if_new(f"fresh {time.monotonic_ns()}", text)}

    def close(self) -> None:
        self.index.close()


class Lance(Program):
    """Lance's scalar index MINHASHLSH. Lance ignores options that it does not know, so the options are read back."""

    package, says, keeps = "pylance", "estimate ≥ t", "yes, versions"

    def build(self, source: Path) -> int:
        import lance
        from lance.indices import IndexConfig
        from pyarrow import json

        tokenizer = {"base_tokenizer": "ngram", "min_ngram_length": SHINGLE, "max_ngram_length": SHINGLE}
        tokenizer |= dict.fromkeys(("lower_case", "stem", "remove_stop_words", "ascii_folding"), False)
        wanted = {"num_hashes": SLOTS, "num_bands": BANDS, "shingle_size": 1, "tokenizer": tokenizer}
        self.data = lance.write_dataset(json.read_json(source), self.folder)
        self.data.create_scalar_index("text", IndexConfig("minhashlsh", wanted))
        details = self.data.describe_indices()[0].details
        if any(details[name] != value for name, value in wanted.items() if name != "tokenizer"):
            raise RuntimeError(f"Lance took other settings: {details}")
        if any(details["tokenizer"][name] != value for name, value in tokenizer.items()):
            raise RuntimeError(f"Lance took other settings: {details}")
        return self.data.count_rows()

    def add(self, rows: list[int], ids: list[str], texts: list[str]) -> None:
        import lance
        import pyarrow

        self.data = lance.write_dataset(pyarrow.table({"id": ids, "text": texts}), self.folder, mode="append")

    def remove(self, rows: list[int], ids: list[str]) -> None:
        names = ", ".join("'" + name.replace("'", "''") + "'" for name in ids)
        self.data.delete(f"id IN ({names})")

    def _nearest(self, text: str, limit: int) -> Found:
        from lance.query import MinHashQuery

        columns = ["id", "_distance"]
        found = self.data.to_table(columns=columns, nearest=MinHashQuery(text, "text"), limit=limit).to_pydict()
        return list(zip(found["id"], (1 - distance for distance in found["_distance"]), strict=True))

    def answer(self, text: str) -> Any:
        return [pair for pair in self._nearest(text, TOP) if pair[1] >= THRESHOLD - 1e-6]

    def everything(self, text: str) -> dict[str, Found]:
        found = self._nearest(text, 10_000)
        likely = [(name, None) for name, estimate in found if estimate >= THRESHOLD - 1e-6]
        return {self.says: likely, "… all its candidates": [(name, None) for name, _ in found]}


class Gaoya(Program):
    """gaoya's MinHashStringIndex, which cuts the shingles itself."""

    package, says = "gaoya", "estimate ≥ t"

    def build(self, source: Path) -> int:
        from gaoya.minhash import MinHashStringIndex

        self.index = MinHashStringIndex(32, THRESHOLD, BANDS, ROWS, None, "char", False, (SHINGLE, SHINGLE))
        return super().build(source)

    def add(self, rows: list[int], ids: list[str], texts: list[str]) -> None:
        self.index.par_bulk_insert_docs(rows, texts)

    def remove(self, rows: list[int], ids: list[str]) -> None:
        for row in rows:
            self.index.remove(row)

    def answer(self, text: str) -> Any:
        return self.index.query(text)


class Rensa(Program):
    """rensa's RMinHashLSH, given lists of shingles, which is quicker than sets."""

    package, keeps = "rensa", "pickle"

    def build(self, source: Path) -> int:
        from rensa import RMinHash, RMinHashLSH

        self.hashed = RMinHash
        self.index = RMinHashLSH(threshold=THRESHOLD, num_perm=SLOTS, num_bands=BANDS)
        return super().build(source)

    def _sketch(self, text: str) -> Any:
        sketch = self.hashed(num_perm=SLOTS, seed=42)
        sketch.update([text[i : i + SHINGLE] for i in range(len(text) - SHINGLE + 1)] or [text])
        return sketch

    def add(self, rows: list[int], ids: list[str], texts: list[str]) -> None:
        for row, text in zip(rows, texts, strict=True):
            self.index.insert(row, self._sketch(text))

    def remove(self, rows: list[int], ids: list[str]) -> None:
        for row in rows:
            self.index.remove(row)

    def answer(self, text: str) -> Any:
        return self.index.query(self._sketch(text))


class Datasketch(Program):
    """datasketch's MinHashLSH at its best: `MinHash.generator`, xxhash for SHA-1, no check for repeated keys."""

    package, keeps = "datasketch", "pickle"
    params: tuple[int, int] | None = (BANDS, ROWS)

    def build(self, source: Path) -> int:
        import xxhash
        from datasketch import MinHash, MinHashLSH

        self.hashed, self.options = MinHash, {"num_perm": 128, "hashfunc": xxhash.xxh32_intdigest}
        self.blank = MinHash(**self.options)
        self.index = MinHashLSH(threshold=THRESHOLD, num_perm=128, params=self.params)
        return super().build(source)

    @staticmethod
    def _shingles(text: str) -> set[bytes]:
        data = text.encode()
        if len(data) == len(text):
            return {data[i : i + SHINGLE] for i in range(len(data) - SHINGLE + 1)} or {data}
        return {text[i : i + SHINGLE].encode() for i in range(len(text) - SHINGLE + 1)} or {data}

    def add(self, rows: list[int], ids: list[str], texts: list[str]) -> None:
        sketches = self.hashed.generator(map(self._shingles, texts), **self.options)
        for name, sketch in zip(ids, sketches, strict=True):
            self.index.insert(name, sketch, check_duplication=False)

    def remove(self, rows: list[int], ids: list[str]) -> None:
        for name in ids:
            self.index.remove(name)

    def answer(self, text: str) -> Any:
        sketch = self.blank.copy()
        sketch.update_batch(self._shingles(text))
        return self.index.query(sketch)


class DatasketchOwn(Datasketch):
    """The same with the bands that the library chooses for 0.8 (9 of 13 rows)."""

    params = None


class Trigrams(Program):
    """PostgreSQL with pg_trgm and a GIN index, served to this process only; CPU and memory are the backend's."""

    package, says, keeps = "psycopg2-binary", "exact, of word trigrams", "yes"
    tools = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))

    def version(self) -> str:
        if not self.tools:
            raise ImportError("there is no PostgreSQL in /usr/lib/postgresql")
        return subprocess.run([self.tools[-1] / "postgres", "-V"], capture_output=True, text=True).stdout.strip()

    def build(self, source: Path) -> int:
        import psycopg2

        self.home = Path(tempfile.mkdtemp(prefix="neardup-pg-"))
        account = {}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            account = {"user": "postgres", "group": "postgres", "extra_groups": []}
            shutil.chown(self.home, "postgres", "postgres")
        data, tools = self.home / "data", self.tools[-1]
        subprocess.run(
            [tools / "initdb", "-D", data, "-U", "bench", "-E", "UTF8", "--locale=C.UTF-8"],
            check=True, capture_output=True, cwd=self.home, **account,
        )  # fmt: skip
        settings = {
            "listen_addresses": "", "unix_socket_directories": self.home, "maintenance_work_mem": "1GB",
            "max_parallel_workers_per_gather": 0, "enable_seqscan": "off", "pg_trgm.similarity_threshold": THRESHOLD,
        }  # fmt: skip
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self.home / "log").open("wb") as log:
            self.server = subprocess.Popen(
                [tools / "postgres", "-D", data, *words], stdout=log, stderr=log, cwd=self.home, **account
            )
        for _ in range(300):
            try:
                self.link = psycopg2.connect(host=str(self.home), user="bench", dbname="postgres")
                break
            except psycopg2.OperationalError:
                time.sleep(0.2)
        self.link.autocommit = True
        self.pid = self.link.get_backend_pid()
        self.ask = self.link.cursor()
        self.ask.execute("CREATE EXTENSION pg_trgm; CREATE TABLE doc (id text PRIMARY KEY, body text)")
        self.before = cpu_seconds(self.pid)
        number = super().build(source)
        self.ask.execute("CREATE INDEX ON doc USING gin (body gin_trgm_ops); ANALYZE doc; CHECKPOINT")
        return number

    def add(self, rows: list[int], ids: list[str], texts: list[str]) -> None:
        self.ask.execute("INSERT INTO doc SELECT * FROM unnest(%s::text[], %s::text[])", (ids, texts))

    def remove(self, rows: list[int], ids: list[str]) -> None:
        self.ask.execute("DELETE FROM doc WHERE id = ANY(%s)", (ids,))

    def _best(self, text: str, top: int | None) -> list[str]:
        query = "SELECT id FROM doc WHERE body %% %s ORDER BY similarity(body, %s) DESC LIMIT %s"
        self.ask.execute(query, (text, text, top))
        return [name for (name,) in self.ask.fetchall()]

    def answer(self, text: str) -> Any:
        return self._best(text, TOP)

    def everything(self, text: str) -> dict[str, Found]:
        return {self.says: [(name, None) for name in self._best(text, None)]}

    def disk(self) -> int:
        self.ask.execute("SELECT pg_total_relation_size('doc')")
        return self.ask.fetchall()[0][0]

    def close(self) -> None:
        if hasattr(self, "server"):
            self.server.send_signal(signal.SIGINT)  # does not wait for clients
            self.server.wait(60)
        if hasattr(self, "home"):
            shutil.rmtree(self.home)


PROGRAMS: dict[str, type[Program]] = {
    "neardup": Neardup,
    "lance": Lance,
    "gaoya": Gaoya,
    "rensa": Rensa,
    "datasketch": Datasketch,
    "datasketch-own": DatasketchOwn,
    "pg_trgm": Trigrams,
}
