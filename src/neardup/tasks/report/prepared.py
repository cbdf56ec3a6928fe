"""What has to be read before a report is begun: templates, verdicts, keys, and the inputs with their roles."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from neardup.engine.reading.template import Template
from neardup.errors import InputError
from neardup.inputs.reader import Reader
from neardup.params import InputOptions, Spec
from neardup.tasks.report.earlier_pairs import EarlierPairs
from neardup.tasks.report.pseudonyms import KeyFile
from neardup.tasks.report.report_input import Asked
from neardup.tasks.report.roles import ORIGINAL, Roles, open_roles
from neardup.tasks.report.verdicts import Verdict, read_verdicts
from neardup.tasks.report.wanted import Wanted


@dataclass(slots=True)
class Prepared:
    """What is wanted, with its files read."""

    wanted: Wanted
    spec: Spec
    template: Template | None
    verdicts: Sequence[Verdict]
    keys: KeyFile | None
    roles: Roles = field(default_factory=Roles)

    @classmethod
    def of(cls, wanted: Wanted, spec: Spec, output: str | os.PathLike[str]) -> Prepared:
        """Read the files that are named; InputError where one cannot be used, or lies in the ``output``."""
        inside = os.path.join(os.path.realpath(output), "")
        for path in (*wanted.ignore, *wanted.verdicts, *([wanted.pseudonyms] if wanted.pseudonyms else [])):
            if os.path.realpath(path).startswith(inside):
                raise InputError(
                    f"{path} lies where the report is to be written, which replaces it. Keep it elsewhere."
                )
        keys = None if wanted.pseudonyms is None else KeyFile.open(wanted.pseudonyms)
        return cls(wanted, spec, wanted.template(spec), read_verdicts(wanted.verdicts), keys)

    def open(self, inputs: Any, options: InputOptions) -> Reader:
        """The inputs, with the originals and the earlier documents."""
        wanted, is_item = self.wanted, self.spec.shingle.kind == "item"
        reader, self.roles = open_roles(
            inputs, options, item=is_item, originals=wanted.originals, against=wanted.against
        )
        if (by := wanted.grouping) is not None:
            by.check(reader, [name for name, role in self.roles.sources.items() if role == ORIGINAL])
        files = {"ignore": wanted.ignore, "verdicts": wanted.verdicts, "pseudonyms": [wanted.pseudonyms]}
        read = {os.path.realpath(path): path for part in reader.parts for path in part.paths or ()}
        for name, paths in files.items():
            for path in paths:
                if path is not None and (twice := read.get(os.path.realpath(path))) is not None:
                    raise InputError(f"{twice} is an input, and the file of {name}. Keep it outside the inputs.")
        return reader

    @property
    def task(self) -> dict[str, Any]:
        """What else must be equal for an interrupted run to go on."""
        if self.template is None and not self.roles and self.wanted.group_by is None:
            return {}
        return {
            "ignore": [] if self.template is None else list(self.template.passages),
            "roles": [self.roles.sources, self.roles.files],
            "group_by": self.wanted.group_by,
        }

    def asked(self, filed: EarlierPairs | None, link: str) -> Asked:
        """What is asked of the run."""
        return Asked(filed, link, self.wanted.audit, self.wanted.grouping, self.roles, self.keys)
