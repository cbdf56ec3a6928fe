"""What is asked for: of a search, of its inputs and of a run. One form for Python, the command line and the index.

The public functions of Python have flat signatures, and the commands have flat options; both make these of what they
were given, by name. Each form checks its fields when it is made. What only holds between options, such as bands that
need more slots than there are, is checked where they are put to use: in ``tuning.make_spec``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

from neardup.errors import InputError
from neardup.params import checks
from neardup.params.presets import Preset, check_preset
from neardup.params.spec import Bands, CandidateShingle, Normalize, Shingle

__all__ = [
    "ClusterOptions",
    "InputOptions",
    "ListOptions",
    "Options",
    "RunOptions",
    "SearchOptions",
]


class Options:
    """Options with defaults, which are made of named values."""

    __slots__ = ()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """The options among ``given``, such as the ``locals()`` of a function; the others are as by default."""
        return cls(**{name: given[name] for name in cls.names() if name in given})

    @classmethod
    def names(cls) -> list[str]:
        return [each.name for each in fields(cls)]  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class SearchOptions(Options):
    """Which pairs are to be found, and how they make clusters; ``neardup.find`` says what each means."""

    threshold: float = checks.DEFAULT_THRESHOLD
    recall: float = checks.DEFAULT_RECALL
    shingle: str | Shingle = checks.DEFAULT_SHINGLE
    normalize: str | Normalize = checks.DEFAULT_NORMALIZE
    sketch: str = checks.DEFAULT_SKETCH
    slots: int | None = None
    bands: str | Bands | None = None
    candidates_by: str | CandidateShingle | None = None
    seed: int = checks.DEFAULT_SEED
    crowd: int = checks.DEFAULT_CROWD
    collapse_exact: bool = False
    exact: bool | str = False
    measure: str = checks.DEFAULT_MEASURE
    verify: str = checks.DEFAULT_VERIFY
    link: str = "star"
    preset: str | Preset | None = None
    """What the values come from that were not given by hand; it decides nothing here."""

    def __post_init__(self) -> None:
        checks.check_exact(self.exact)
        checks.check_choice(self.measure, checks.MEASURES, "measure")
        parsed = {
            "threshold": checks.check_threshold(self.threshold),
            "recall": checks.check_probability(self.recall, "recall"),
            "shingle": Shingle.parse(self.shingle),
            "normalize": Normalize.parse(self.normalize),
            "bands": None if self.bands is None else Bands.parse(self.bands),
            "candidates_by": None if self.candidates_by is None else CandidateShingle.parse(self.candidates_by),
        }
        for name, value in parsed.items():
            object.__setattr__(self, name, value)
        checks.check_choice(self.sketch, checks.SKETCH_FAMILIES, "sketch")
        if self.slots is not None:
            checks.check_slots(self.slots)
        checks.check_seed(self.seed)
        checks.check_crowd(self.crowd)
        checks.check_choice(self.verify, checks.VERIFY, "verify")
        checks.check_choice(self.link, checks.LINK_RULES, "link")
        if isinstance(self.preset, str):
            check_preset(self.preset)

    @property
    def used_preset(self) -> Preset | None:
        """The preset, when ``resolve`` put it to use."""
        return self.preset if isinstance(self.preset, Preset) else None


@dataclass(frozen=True, slots=True)
class InputOptions(Options):
    """How inputs are read."""

    text: str | Sequence[str] | None = None
    """Column or field of the text, for formats that have them, or several, which are joined by newlines: a list, or one
    string with commas between; None: guessed."""
    id: str | None = None
    """The same for the id. Without one, ids are ``source:row``, the path of a text file, or the position in a value."""
    column: str | Sequence[str] | None = None
    """Further columns that an index stores with each document, named as several of the text are."""
    glob: str | Sequence[str] | None = None
    """Pattern or patterns of the files of a folder."""
    encoding: str = "utf-8"
    """Of text files; of JSON, CSV and lines too."""
    boilerplate: str = "keep"
    """Of web pages: ``keep`` or ``remove``."""
    on_bad: str = "fail"
    """What happens at a record that cannot be used: ``fail`` or ``skip``."""
    input_format: str | None = None
    """One of INPUT_FORMATS, in place of the suffix."""
    block: int | None = None
    """Documents of a batch, at most."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", checks.check_columns(self.text))
        object.__setattr__(self, "column", checks.check_columns(self.column, "column"))
        checks.check_choice(self.on_bad, checks.ON_BAD, "on_bad")
        if self.input_format is not None:
            checks.check_choice(self.input_format, checks.INPUT_FORMATS, "input_format")
        if self.block is not None and self.block < 1:
            raise InputError(f"block is {self.block}. Give a number of documents of at least 1.")
        checks.check_choice(self.boilerplate, checks.BOILERPLATE, "boilerplate")


@dataclass(frozen=True, slots=True)
class ListOptions(Options):
    """What a table lists of what was found."""

    with_text: bool | int = False
    """Whether it has the texts of its documents; a number: so many characters of each, at most."""
    sort: str | None = None
    """One of ORDERS; None: as the input, or the most similar first where only those are listed."""
    top: int | None = None
    """So many of the most similar pairs; None: all."""

    def __post_init__(self) -> None:
        checks.check_text_length(self.with_text)
        if self.sort is not None:
            checks.check_choice(self.sort, checks.ORDERS, "sort")
        checks.check_top(self.top)

    @property
    def by_similarity(self) -> bool:
        """Whether the most similar pairs come first."""
        return self.sort == checks.SIMILARITY or (self.sort is None and self.top is not None)


@dataclass(frozen=True, slots=True)
class RunOptions(Options):
    """What a run may use, and how it goes on. The result depends on none of it."""

    threads: int | None = None
    """None: one for each processor that this process may use."""
    memory: int | str | None = None
    """Limit of resident memory: bytes, or such as "2GB"; None: half of what is free."""
    workdir: str | os.PathLike[str] | None = None
    """Folder to work in from the start, so that the run can be resumed; None: a folder when memory gets short."""
    resume: bool = False
    """Go on with the interrupted run whose work is in ``workdir``."""

    def __post_init__(self) -> None:
        checks.check_threads(self.threads)
        checks.parse_memory(self.memory)

    @property
    def workers(self) -> int:
        return checks.check_threads(self.threads)

    @property
    def memory_limit(self) -> int | None:
        """Bytes of resident memory; None: half of what is free."""
        return checks.parse_memory(self.memory)


@dataclass(frozen=True, slots=True)
class ClusterOptions(Options):
    """Who does the work of a run."""

    engine: str = checks.LOCAL
    """One of ENGINES: ``local``, this machine, or ``spark``."""
    master: str | None = None
    """Of Spark, such as ``local[4]`` or ``spark://host:7077``; None: as Spark is configured, or this machine."""
    conf: Sequence[str] = ()
    """Settings of Spark, as ``key=value``."""

    def __post_init__(self) -> None:
        checks.check_choice(self.engine, checks.ENGINES, "engine")
        for each in self.conf:
            if not each.partition("=")[2] or not each.startswith("spark."):
                raise InputError(f"conf is {each!r}. Give key=value, such as spark.executor.memory=4g.")
        if self.engine == checks.LOCAL and (self.master is not None or self.conf):
            raise InputError("master and conf are for a cluster. Give --engine spark (engine='spark') too.")
