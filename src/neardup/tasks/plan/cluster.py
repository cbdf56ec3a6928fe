"""What a run on a cluster will cost, as pure functions of what was measured.

The stages are those of ``neardup.spark.search``, with the sizes of their tasks. Who does them is in ``neardup.spark``,
what one machine takes for the same in ``costs``, and which of both is the better choice in ``beside``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from neardup.engine.fit import SAMPLE
from neardup.inputs.blocks import BLOCK_BYTES
from neardup.inputs.splits import usual_bytes
from neardup.stages.bands import KEY_BYTES
from neardup.tasks.plan.costs import (
    MODEL_ERROR,
    MOST_PAIRS,
    NAME_SECONDS,
    PAIR_BYTES,
    PROGRAM_BYTES,
    WRITE_SECONDS,
    Checking,
    Profile,
    Range,
    Setting,
    Speeds,
    checking,
)

# Sizes of tasks: those of neardup.spark, which this room cannot see; a test holds them together.
PART_KEYS, PART_PRINTS, PARTS_TEXT = 8_000_000, 4_000_000, 48 << 20
SCATTERED = 0.3
"""Share of the texts up to which they are read again by themselves."""
RANGES = 1 << 16
"""Partitions of keys, at most."""

# CPU seconds on the machine of benchmarks/RESULTS.md; elsewhere they are multiplied by the pace.
# From stages done in one process (100,000 and a million documents of 300 bytes, paragraphs, sources of kernels):
READ_SECONDS = 0.55e-6
"""Reading and sketching for a cluster: a document, beyond what one machine takes."""
AGAIN = 1.2
"""Reading a text again to send it, in times of the first reading without the sketch: 1.1 to 1.5."""
RECEIVE = 1.0
"""Taking in a text that was sent, in times of reading and sketching it."""
TEXT_SECONDS = 1.8e-6
"""Sending and taking in a text: 0.5 and 1.3, whatever its size."""
PRINT_SECONDS = 0.45e-6
"""Prints and ids of a document to their partitions, and looking for equal ones."""
LOOK_SECONDS = 0.06e-6
"""Looking up names: a document of the splits that are asked, once for copies and once for candidates."""
GIVE_SECONDS, TAKE_SECONDS = 35e-9, 25e-9
"""A key to its partition, and among the others there."""
KNOWN_SECONDS, LISTED_SECONDS = 1.4e-6, 1.5e-6
"""The driver, for a document that it knows, and for a pair."""
BLOB_SECONDS = 0.12e-3
"""What one task sends to one partition: packing, a row of Arrow, unpacking."""
FILE_SECONDS = 0.5e-3
"""A file of the workdir that the driver writes or reads."""
# From runs of Spark 4, on local[2] and on a standalone cluster of two workers:
SHUFFLE_SECONDS = 20e-9
"""A byte from one Python process to another, through the JVMs and their disks: 10 ns on local[2], 17 to 25 on
a cluster."""
DRIVER_START, EXECUTOR_START, WORKER_START = 14.0, 16.0, 1.5
"""JVM of the driver, JVM of an executor with its compiling, Python process of a core: imports and kernels."""
TASK_SECONDS = 40e-3
"""Scheduling and starting a task, Python and the JVMs together: 70 ms over 400 empty tasks beside other programs."""
SPLIT_SECONDS = 3.3e-6
"""Telling a task of one split: each gets the list of them all, 28 bytes of each; of files 86, for twice as long."""
START_WALL, STAGE_WALL = 10.0, 0.7
"""Seconds until a session is open, and for each stage until its first task begins."""
EXECUTOR_CORES = 4
"""Cores of an executor, as assumed for what its JVM takes."""
DRIVER_ERROR = 1.5
"""Factor by which the memory of a driver may be off."""
CLUSTER_ERROR = 1.5
"""The same for times: networks and disks differ more than processors."""

PRINT_BYTES, TEXT_BYTES = 32, 32
"""Sent for each document beside keys and texts: row, print, and the hash and row of its id; of each text that is sent
row, print and length."""
KEY_ROW_BYTES, HEAVY_BYTES = 9, 12
"""A key of five bytes and its row; beside, in each band, for a text that has copies: how many."""
PRINT_BLOB, TEXT_BLOB, KEY_BLOB = 150, 250, 200
"""What each blob has beside its rows: its header, and numbers of the row; of keys also where the bands begin,
8 bytes for each."""
READ_BYTES, PAIR_FILE_BYTES, KNOWN_FILE_BYTES = 44, 18, 45
"""Of the workdir: for each document beside keys and id; for each candidate, in each band in which it is met, and twice
for those that are checked; for each document that is looked up, beside its id. Texts of the sample and of crowds
come on top."""
KNOWN_BYTES, COPY_BYTES, MET_BYTES = 210, 40, 40
"""Memory of the driver: for each document that it knows, beside its id, for each that is in a group of copies, and for
each candidate in each band, of FILES_READ files. Peaks on local[2]: 256, 385, 393 and 395 MB with 34,000, 347,000,
400,000 and 72,000 known documents, the last with long ids and many pairs."""
FILES_READ = 16
"""Files of the workdir that the driver reads at a time."""
DRIVER_PROGRAM = PROGRAM_BYTES + 30_000_000
SPLIT_MEMORY = 3_000
"""For each split: what it counted, and its part of each answer."""
WORKER_PROGRAM = 235_000_000
"""Resident memory of a Python process of a worker that has done a task of two documents."""
BLOCKS = 40 << 20
"""Blocks of documents that it reads."""
READ_HELD, KEYS_HELD, TEXT_HELD, LONGEST_HELD = 3.0, 4.5, 8.0, 6.0
"""Copies of what it read, of its keys, of its texts and of its largest text that it has at a time, with what Arrow and
Spark hold of them. Of keys 2.5 and of texts 5 to 6 in one process; on local[2] 720 MB in all with 54 MB of texts."""
JVM_EXECUTOR, JVM_CORE = 1 << 30, 512 << 20
"""What an executor's JVM should have, and for each core beside."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The cluster that a plan is for."""

    cores: int
    memory: int
    """Bytes for each core: its Python process, and its part of the JVM of the executor."""

    @property
    def jvm(self) -> int:
        """Of the memory of a core, what the JVM should have."""
        return JVM_CORE + JVM_EXECUTOR // min(self.cores, EXECUTOR_CORES)


@dataclass(frozen=True, slots=True)
class Pieces:
    """How the inputs are cut into tasks."""

    count: int
    nbytes: float
    """Of all, as they are stored; of Parquet as unpacked."""
    largest: float
    """Of the largest one."""
    longest: int = 0
    """Bytes of the largest text."""

    @classmethod
    def even(cls, nbytes: float, longest: int = 0) -> Pieces:
        """Those of inputs that can be cut anywhere."""
        piece = usual_bytes(nbytes)
        return cls(max(1, math.ceil(nbytes / piece)), nbytes, min(nbytes, piece), longest)

    @property
    def share(self) -> float:
        """Of the input that the largest one has."""
        return self.largest / max(self.nbytes, 1)

    def grown(self, factor: float) -> Pieces:
        """Those of so many times the input, in files of the same kind."""
        nbytes = self.nbytes * factor
        usual = usual_bytes(self.nbytes)
        is_small = self.count == 1 and self.nbytes <= usual  # nothing is known of how larger ones are cut
        if is_small or usual / 2 < self.largest <= usual:
            return Pieces.even(nbytes, self.longest)
        return Pieces(max(1, math.ceil(self.count * factor)), nbytes, min(self.largest, nbytes), self.longest)


@dataclass(frozen=True, slots=True)
class StageCost:
    """One stage of a run on a cluster, by the name that the run has for it."""

    name: str
    tasks: int
    """On pieces of the input."""
    partitions: int
    """Tasks on what the first ones sent; 0: they send nothing."""
    shuffled: int
    """Bytes that they send."""
    cpu_seconds: float
    seconds: float


@dataclass(frozen=True, slots=True)
class ClusterEstimate:
    """What a run on a cluster will come to."""

    stages: tuple[StageCost, ...]
    known: Range
    """Documents that the driver knows: those that have copies or are in a candidate pair."""
    shuffled: Range
    """Bytes that tasks send to others; about as many lie on the local disks of Spark, all workers together."""
    workdir: Range
    """Bytes of the files that the stages write."""
    worker_memory: int
    """Peak of the Python process of a core."""
    driver_memory: Range
    cpu_seconds: Range
    """Of all processes of the cluster, from the start of the session."""
    seconds: Range

    @property
    def tasks(self) -> int:
        """Tasks of all stages."""
        return sum(stage.tasks + stage.partitions for stage in self.stages)


def predict_cluster(
    profile: Profile, speeds: Speeds, setting: Setting, pieces: Pieces, shape: Shape
) -> ClusterEstimate:
    """What a run with bands will cost on a cluster whose cores are as fast as this machine's and do nothing else.

    The ranges come from those of the candidates, and from what the model itself may be off.
    """
    check = checking(profile, speeds, setting)
    expected = max(check.candidates.expected, 1.0)
    low, high = check.candidates.low / expected, check.candidates.high / expected
    runs = [_Run(profile, speeds, setting, pieces, shape, check, share) for share in (1.0, min(low, 1.0), high)]
    stages = [tuple(run.stages()) for run in runs]

    def ranged(values: list[float], error: float = 1.0) -> Range:
        return Range(values[0], min(values) / error, max(values) * error)

    return ClusterEstimate(
        stages=stages[0],
        known=ranged([run.known for run in runs]),
        shuffled=ranged([float(sum(stage.shuffled for stage in each)) for each in stages]),
        workdir=ranged([run.workdir for run in runs], MODEL_ERROR),
        worker_memory=int(runs[0].worker_memory),
        driver_memory=ranged([run.driver_memory for run in runs], DRIVER_ERROR),
        cpu_seconds=ranged([sum(stage.cpu_seconds for stage in each) for each in stages], CLUSTER_ERROR),
        seconds=ranged([sum(stage.seconds for stage in each) for each in stages], CLUSTER_ERROR),
    )


class _Run:
    """One prediction; ``share`` of the candidates that are expected come."""

    def __init__(
        self,
        profile: Profile,
        speeds: Speeds,
        setting: Setting,
        pieces: Pieces,
        shape: Shape,
        check: Checking,
        share: float,
    ) -> None:
        self.profile, self.speeds, self.pieces, self.shape = profile, speeds, pieces, shape
        self.bands = setting.bands.bands
        self.check, self.share = check, share
        n = max(profile.distinct, 1)
        free = 1 - min(1.0, share * check.met / n)
        # pairs that meet by chance are in other texts each time
        self.met = min(float(n), n * (1 - free * math.exp(-2 * share * check.by_chance / n)))
        self.several = profile.copies + profile.copied
        self.known = min(float(profile.documents), self.met + profile.copies + profile.copied * (1 - self.met / n))
        self.size = profile.bytes / max(profile.documents, 1)
        self.id_bytes = profile.id_bytes / max(profile.documents, 1)
        self.key_parts = min(1 + profile.documents * self.bands // PART_KEYS, RANGES)
        per_byte, per_text = speeds.sketch[setting.slots]
        self.sketched = (speeds.read + per_byte) * profile.bytes + per_text * profile.documents
        self.again = AGAIN * speeds.read * profile.bytes
        self.slots = setting.slots
        self.entries = share * _entries(profile, setting)

    def stages(self) -> Iterator[StageCost]:
        """The stages in their order; a stage that comes twice is one of twice the tasks."""
        n, pieces, parts, pace = self.profile.documents, self.pieces.count, self.key_parts, self.speeds.pace
        cores, check = self.shape.cores, self.check
        executors = math.ceil(cores / EXECUTOR_CORES)
        start = (DRIVER_START + EXECUTOR_START * executors + WORKER_START * cores) * pace
        yield StageCost("start", 0, 0, 0, start, (START_WALL + WORKER_START) * pace)
        yield self._stage("read", self.sketched + READ_SECONDS * n * pace)
        prints = 2 * (1 + n // PART_PRINTS)
        sent = PRINT_BYTES * n + PRINT_BLOB * pieces * prints
        yield self._stage("prints", PRINT_SECONDS / 3 * n * pace, prints, sent, PRINT_SECONDS * 2 / 3 * n * pace)
        looked_up = (1 if self.several else 0) + 1
        yield self._stage("names", looked_up * LOOK_SECONDS * n * pace, rounds=looked_up)
        a_text = self.sketched / max(n, 1) * RECEIVE + TEXT_SECONDS * pace
        if self.several:
            yield self._texts("copies", self.several, self.several * a_text)
        yield self._stage("sample", self._read_again(min(SAMPLE, n)), tasks=min(pieces, SAMPLE))
        keys = self.bands * self.profile.distinct
        sent = KEY_ROW_BYTES * keys + HEAVY_BYTES * self.bands * self.profile.copied
        yield self._stage(
            "keys",
            GIVE_SECONDS * keys * pace,
            parts,
            KEY_ROW_BYTES * keys
            + HEAVY_BYTES * self.bands * self.profile.copied
            + (KEY_BLOB + 8 * self.bands) * pieces * parts,
            TAKE_SECONDS * keys * pace,
        )
        if check.stars:
            crowds = check.stars * a_text
            told = self._stage("crowds", self._read_again(check.stars))
            yield replace(told, cpu_seconds=told.cpu_seconds + crowds, seconds=told.seconds + crowds)
        if self.met:
            taking = (
                self.share * (check.comparing + check.building + check.merging + check.laying_out) + self.met * a_text
            )
            yield self._texts("check", self.met, taking)
        files = (8 * pieces + 4 * parts) * FILE_SECONDS
        driver = (files + KNOWN_SECONDS * self.known + LISTED_SECONDS * check.pairs.expected * self.share) * pace
        yield StageCost("cluster", 0, 0, 0, driver, driver)
        write = (check.pairs.expected * WRITE_SECONDS + self.known * NAME_SECONDS) * pace
        yield StageCost("write", 0, 0, 0, write, write)

    def _read_again(self, texts: float) -> float:
        """CPU seconds of reading some texts again: by themselves, as in plain files, where they are few."""
        share = texts / max(self.profile.documents, 1)
        return self.again * (share if share <= SCATTERED else 1.0)

    def _texts(self, name: str, texts: float, taking: float) -> StageCost:
        """A stage that reads some texts again, and sends them."""
        size = texts * self.size
        parts = 1 + int(size // PARTS_TEXT)
        # each batch sends one blob to each partition that it has texts for. Texts that belong together meet in a
        # partition, in the order of the first of them: half of them lie side by side in their batch, half anywhere
        batches = max(float(self.pieces.count), self.pieces.nbytes / BLOCK_BYTES)
        blobs = min(batches, texts) + min(texts / 2, batches * (parts - 1))
        sent = int(size + TEXT_BYTES * texts + TEXT_BLOB * blobs)
        return self._stage(name, self._read_again(texts), parts, sent, taking, blobs)

    def _stage(
        self,
        name: str,
        giving: float,
        parts: int = 0,
        sent: int = 0,
        taking: float = 0.0,
        blobs: float | None = None,
        *,
        tasks: int | None = None,
        rounds: int = 1,
    ) -> StageCost:
        """A stage of the pieces, and of ``parts`` partitions that take what these send."""
        pace, cores, count = self.speeds.pace, self.shape.cores, self.pieces.count
        tasks = count if tasks is None else tasks
        blobs = float(tasks) * parts if blobs is None else blobs
        moved = (SHUFFLE_SECONDS * sent + BLOB_SECONDS * blobs) * pace
        a_task = (TASK_SECONDS + SPLIT_SECONDS * count) * pace
        giving += moved / 2 + a_task * tasks * rounds
        taking += moved / 2 + a_task * parts
        seconds = max(giving / min(cores, tasks), giving * self.pieces.share) if tasks else 0.0
        seconds += taking / min(cores, parts) if parts else 0.0
        seconds += STAGE_WALL * rounds * pace
        return StageCost(name, tasks * rounds, parts, int(sent), giving + taking, seconds)

    @property
    def workdir(self) -> float:
        """Bytes of files."""
        n, checked = self.profile.documents, self.check.candidates.expected * self.share
        looked_up = (self.several + self.known) * (KNOWN_FILE_BYTES + self.id_bytes)
        a_document = READ_BYTES + self.id_bytes + KEY_BYTES * self.bands
        brought = (min(SAMPLE, self.profile.distinct) + self.check.stars) * self.size
        return a_document * n + looked_up + brought + PAIR_FILE_BYTES * (self.entries + 2 * checked)

    @property
    def driver_memory(self) -> float:
        """Peak of the driver."""
        known = (KNOWN_BYTES + self.id_bytes) * self.known + COPY_BYTES * self.several
        crowds = self.check.stars * (self.size + 4 * self.slots)
        found = MET_BYTES * self.entries * min(1.0, FILES_READ / self.key_parts)
        listed = PAIR_BYTES * min(MOST_PAIRS, self.check.pairs.expected * self.share)
        return DRIVER_PROGRAM + known + found + listed + crowds + SPLIT_MEMORY * self.pieces.count

    @property
    def worker_memory(self) -> float:
        """Peak of the Python process of a core, of the stage that takes most."""
        n = max(self.profile.documents, 1)
        in_piece = n * self.pieces.share
        reading = BLOCKS + READ_HELD * in_piece * (READ_BYTES + self.id_bytes + KEY_BYTES * self.bands)
        keys = KEYS_HELD * KEY_ROW_BYTES * self.profile.distinct * self.bands / self.key_parts
        texts = min(PARTS_TEXT, max(self.met, self.several) * self.size)
        checked = TEXT_HELD * texts + 4 * self.slots * texts / max(self.size, 1)
        return WORKER_PROGRAM + max(reading, keys, checked) + LONGEST_HELD * self.pieces.longest


def _entries(profile: Profile, setting: Setting) -> float:
    """Candidates, each as often as bands meet it."""
    agree, rows = np.arange(profile.slots + 1, dtype=np.float64), setting.bands.rows
    chance = np.prod([np.maximum(agree - i, 0) / (profile.slots - i) for i in range(rows)], axis=0)
    return float(profile.pairs @ chance) * setting.bands.bands
