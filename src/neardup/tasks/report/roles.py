"""What part a document has in a report: a submission, an original that others may have used, or one of earlier years.

Originals and earlier documents are compared with submissions and not among themselves. They lie beside the inputs or
among them: a file that is both is read once, and is no submission then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neardup.errors import InputError
from neardup.inputs.addresses import real_place
from neardup.inputs.folder import FilesSource
from neardup.inputs.reader import Reader, open_inputs
from neardup.inputs.source import Source
from neardup.params import InputOptions
from neardup.session import Run
from neardup.types import I64, U8

ROLES = ("submission", "original", "earlier")
SUBMISSION, ORIGINAL, EARLIER = range(len(ROLES))


@dataclass(frozen=True, slots=True)
class Roles:
    """Where the documents lie that are no submissions."""

    sources: dict[str, int] = field(default_factory=dict)
    """The role of whole sources, by name."""
    files: dict[str, int] = field(default_factory=dict)
    """The role of files among the inputs, by ``real_place``."""

    given: list[str] = field(default_factory=list)
    """What was named for them."""

    def __bool__(self) -> bool:
        return bool(self.sources or self.files)

    def of(self, run: Run) -> U8:
        """uint8[n]: the role of each document of a run that has read them."""
        n = len(run.provenance.ids)
        found = np.zeros(n, dtype=np.uint8)
        if not self:
            return found
        places = run.provenance.places
        source, local = places.locate(np.arange(n))
        parts = {part.name: part for part in run.reader.parts}
        for number, name in enumerate(places.sources):
            mine = np.flatnonzero(source == number)
            found[mine] = self._of_source(parts[name], local[mine])
        return found

    def _of_source(self, part: Source, local: I64) -> U8:
        if part.name in self.sources:
            return np.full(local.size, self.sources[part.name], dtype=np.uint8)
        roles = [self.files.get(real_place(path), SUBMISSION) for path in part.paths or ()]
        if isinstance(part, FilesSource):
            return np.array(roles, dtype=np.uint8)[local - 1]
        return np.full(local.size, roles[0] if roles else SUBMISSION, dtype=np.uint8)


def open_roles(
    inputs: Any, options: InputOptions, *, item: bool, originals: Any = None, against: Any = None
) -> tuple[Reader, Roles]:
    """Open inputs to be read twice, with the originals and the earlier documents that they are compared with.

    InputError where something cannot be read, or a file has two roles.
    """
    reader, roles = open_inputs(inputs, options, item=item, again=True), Roles()
    for role, name, value in ((ORIGINAL, "originals", originals), (EARLIER, "against", against)):
        if value is None:
            continue
        other = open_inputs(value, options, item=item, name=name, limit=reader.options.limit, again=True)
        further = []
        for source, shared in reader.shared_with(other):
            if not shared:
                if any(source.name == part.name for part in reader.parts):
                    raise InputError(f"{source.name} is given twice. Give it once, with the role that it has.")
                further.append(source)
                continue
            if len(shared) != len(source.paths or ()):
                raise InputError(
                    f"of the {name} {source.name} some files are inputs too, such as {shared[0][0]}, and others are "
                    "not. Name those among the inputs and those beside them apart."
                )
            for path, reading in shared:
                if reading.name in roles.sources or roles.files.setdefault(real_place(path), role) != role:
                    raise InputError(f"{path} is among the originals and among the earlier documents. Leave one out.")
        roles.given.extend(other.sources)
        roles.sources.update((source.name, role) for source in further)
        reader = reader.joined(further, other.found_over)
    return reader, roles
