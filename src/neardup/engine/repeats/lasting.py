"""What of a search for repeats lasts from stage to stage, so that an interrupted run goes on behind the last one.

Stages: ``read`` (texts, units and anchors), ``grouped`` (pieces), ``walked`` (segments). Each ends with a checkpoint of
the workdir, where there is one that lasts; what an earlier stage left and no later one needs is deleted then.
"""

from __future__ import annotations

import numpy as np

from neardup.engine.reading.collection import RowNames
from neardup.engine.repeats.originals import Originals
from neardup.engine.repeats.text import EndToEnd
from neardup.engine.repeats.units import Key
from neardup.engine.space import Space
from neardup.spool.partitions import Partitions
from neardup.types import I64

READ, GROUPED, WALKED = "read", "grouped", "walked"
_LOOPS = "loops"


def stage_of(space: Space) -> str | None:
    """The last stage that an interrupted run had finished."""
    stage: str | None = space.state.get("repeats")
    return stage


def keep_read(
    text: EndToEnd, originals: Originals, anchors: Partitions, loops: I64, key: Key, names: RowNames, space: Space
) -> None:
    """Make what was read last."""
    if not space.is_lasting:
        return
    text.keep()
    originals.keep()
    anchors.keep()
    space.scratch().column(_LOOPS, np.int64, 3).append(loops)
    space.checkpoint(repeats=READ, key=[int(number) for number in key], names=names.state())


def restore_read(text: EndToEnd, originals: Originals, names: RowNames, space: Space) -> tuple[Key, I64]:
    """Have again what was read, but for the anchors; the key and the loops."""
    text.restore()
    originals.restore()
    names.restore(space.scratch(), space.state["names"])
    first, *odd = (np.uint64(number) for number in space.state["key"])
    column = space.scratch().column(_LOOPS, np.int64, 3)
    loops: I64 = column.slice(0, len(column))
    return (first, odd[0], odd[1], odd[2]), loops


def keep_grouped(pieces: Partitions, space: Space) -> None:
    """Make the pieces last."""
    if space.is_lasting:
        pieces.keep()
        space.checkpoint(repeats=GROUPED, parts=pieces.parts)
