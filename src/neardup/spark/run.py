"""One run on a cluster: as ``session.Run``, but for who searches."""

from __future__ import annotations

from dataclasses import dataclass, field

from neardup.engine.state import Gathered, SearchState
from neardup.inputs.splits import plan_splits
from neardup.params import Spec
from neardup.session import Run
from neardup.spark.exchange import Cluster
from neardup.spark.pieces import Job
from neardup.spark.search import ClusterSearch
from neardup.spark.storage import Storage

SPLIT_BYTES = 64 << 20
"""Input of one task, about."""


@dataclass(slots=True)
class ClusterRun(Run):
    """A run whose search is done by a cluster, with its work in ``storage``, which driver and workers see."""

    cluster: Cluster = field(kw_only=True)
    storage: Storage = field(kw_only=True)
    worker_memory: int = field(kw_only=True)
    """Bytes that the process of a worker may take."""
    split_bytes: int = field(kw_only=True, default=SPLIT_BYTES)

    def gather(self, spec: Spec) -> Gathered:
        raise NotImplementedError("what is asked is not done by a cluster")

    def search(self, *, keep_keys: bool = False) -> SearchState:
        """Verified pairs of representatives, of the documents that have pairs or copies."""
        splits = plan_splits(self.reader, self.split_bytes)
        job = Job(self.storage, self.spec, tuple(self.reader.parts), tuple(splits), self.worker_memory)
        search = ClusterSearch(self.cluster, job, self.space, observer=self.observer, threads=self.threads)
        search.on_hints = self._tell_hints
        with self._refusing_too_large():
            found = search.run()
        self.provenance = search.names
        return found
