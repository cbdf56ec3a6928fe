"""What is remembered of a run's documents beside their texts: names, places, and what was wrong."""

from __future__ import annotations

import hashlib
from typing import Any

from neardup.inputs.names.ids import Ids
from neardup.inputs.names.places import Places
from neardup.spool import Workdir
from neardup.types import I64, MOST_FAULTS, Batch, Fault

__all__ = ["Provenance"]


class Provenance:
    """Told of every batch in order; goes to a workdir with the collection, and comes back from there."""

    def __init__(self) -> None:
        self.places = Places()
        self.ids = Ids(self.places)
        self.faults: list[Fault] = []
        self.bad = 0
        self.blank = 0
        self.records: dict[str, int] = {}
        """Documents and bad records of each source."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory held."""
        return self.places.nbytes + self.ids.nbytes

    def enter(self, batch: Batch) -> None:
        """Take note of a batch, in order."""
        self.places.append(batch)
        self.ids.append(batch)
        self.bad += batch.bad
        self.blank += batch.blank
        self.records[batch.source] = self.records.get(batch.source, 0) + len(batch.documents) + batch.bad
        self.faults.extend(batch.faults[: MOST_FAULTS - len(self.faults)])

    def first_of(self, rows: I64) -> int:
        """Among copies the row with the least hash of its id, so that shuffling the input changes nothing."""
        names = self.ids.take(rows).to_pylist()
        digests = [hashlib.blake2b(str(name).encode("utf-8", "replace"), digest_size=8).digest() for name in names]
        return int(rows[min(range(len(digests)), key=lambda i: (digests[i], i))])

    def spill(self, workdir: Workdir) -> None:
        """Go on in files."""
        self.places.spill(workdir)
        self.ids.spill(workdir)

    def state(self) -> dict[str, Any]:
        """JSON values from which ``restore`` makes it again, with its files."""
        faults = [[fault.source, fault.row, fault.reason] for fault in self.faults]
        counts = {"bad": self.bad, "blank": self.blank, "records": self.records}
        return {"places": self.places.state(), "faults": faults, **counts}

    def restore(self, workdir: Workdir, state: dict[str, Any]) -> None:
        """Become what an interrupted run's was."""
        self.places.restore(workdir, state["places"])
        self.ids.restore(workdir, len(self.places))
        self.faults = [Fault(*fault) for fault in state["faults"]]
        self.bad, self.blank = state["bad"], state["blank"]
        self.records = dict(state["records"])
