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
from neardup.params.checks import (
    BOILERPLATE,
    DEFAULT_CROWD,
    DEFAULT_MEASURE,
    DEFAULT_NORMALIZE,
    DEFAULT_RECALL,
    DEFAULT_SEED,
    DEFAULT_SHINGLE,
    DEFAULT_SKETCH,
    DEFAULT_THRESHOLD,
    DEFAULT_VERIFY,
    INPUT_FORMATS,
    ON_BAD,
    check_choice,
    check_exact,
    check_link,
    check_measure,
    check_probability,
    check_seed,
    check_sketch,
    check_slots,
    check_threads,
    check_threshold,
    check_verify,
    parse_memory,
)
from neardup.params.values import Bands, Normalize, Shingle

__all__ = ["InputOptions", "Options", "RunOptions", "SearchOptions"]


class Options:
    """Options with defaults, which are made of named values."""

    __slots__ = ()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """The options among ``given``; those that are not there are as they are by default.

        Args:
            given: values by name: the ``locals()`` of a function, or the parameters of a command. Other names are
                passed over.

        Raises:
            InputError: a value is not what its field may be.
        """
        return cls(**{name: given[name] for name in cls.names() if name in given})

    @classmethod
    def names(cls) -> list[str]:
        """The names of the options."""
        return [each.name for each in fields(cls)]  # type: ignore[arg-type]

    def _set(self, **parsed: Any) -> None:
        """Put what a value stands for in its place."""
        for name, value in parsed.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True)
class SearchOptions(Options):
    """Which pairs are to be found, and how they make clusters; ``neardup.find`` says what each means."""

    threshold: float = DEFAULT_THRESHOLD
    recall: float = DEFAULT_RECALL
    shingle: str | Shingle = DEFAULT_SHINGLE
    normalize: str | Normalize = DEFAULT_NORMALIZE
    sketch: str = DEFAULT_SKETCH
    slots: int | None = None
    bands: str | Bands | None = None
    seed: int = DEFAULT_SEED
    crowd: int = DEFAULT_CROWD
    collapse_exact: bool = False
    exact: bool | str = False
    measure: str = DEFAULT_MEASURE
    verify: str = DEFAULT_VERIFY
    link: str = "star"

    def __post_init__(self) -> None:
        check_exact(self.exact)
        check_measure(self.measure)
        self._set(
            threshold=check_threshold(self.threshold),
            recall=check_probability(self.recall, "recall"),
            shingle=Shingle.parse(self.shingle),
            normalize=Normalize.parse(self.normalize),
            bands=None if self.bands is None else Bands.parse(self.bands),
        )
        check_sketch(self.sketch)
        if self.slots is not None:
            check_slots(self.slots)
        check_seed(self.seed)
        if not isinstance(self.crowd, int) or isinstance(self.crowd, bool) or self.crowd < 2:
            raise InputError(f"crowd is {self.crowd!r}. Give a whole number of at least 2, such as {DEFAULT_CROWD}.")
        check_verify(self.verify)
        check_link(self.link)


@dataclass(frozen=True, slots=True)
class InputOptions(Options):
    """How inputs are read."""

    text: str | None = None
    """Column or field of the text, for formats that have them; None: guessed by name."""
    id: str | None = None
    """The same for the id. Without one, ids are ``source:row``, the path of a text file, or the position in a value."""
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
        check_choice(self.on_bad, ON_BAD, "on_bad")
        if self.input_format is not None:
            check_choice(self.input_format, INPUT_FORMATS, "input_format")
        if self.block is not None and self.block < 1:
            raise InputError(f"block is {self.block}. Give a number of documents of at least 1.")
        check_choice(self.boilerplate, BOILERPLATE, "boilerplate")


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
        check_threads(self.threads)
        parse_memory(self.memory)

    @property
    def workers(self) -> int:
        """Threads to work with."""
        return check_threads(self.threads)

    @property
    def memory_limit(self) -> int | None:
        """Bytes of resident memory; None: half of what is free."""
        return parse_memory(self.memory)
