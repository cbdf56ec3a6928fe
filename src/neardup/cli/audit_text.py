"""The text of an audit: figures in aligned columns. What they mean is in ``neardup.tasks.audit``."""

from __future__ import annotations

from collections.abc import Sequence

from neardup.cli.summary import LABEL_WIDTH, labelled, left_out
from neardup.shown import counted, duration, megabytes, similarity_text
from neardup.tasks.audit.outcome import Audit, AuditBin, shown


def audit_lines(audit: Audit, *, files: Sequence[str], is_alone: bool = False) -> list[str]:
    """Return an audit for a person, a line an item, the verdict last; ``is_alone``: no summary tells what was read."""
    texts = counted(audit.documents, "distinct text")
    rows = [
        ("documents", f"{texts}, {audit.sampled:,} sampled (sample seed {audit.sample_seed})"),
        *(left_out(audit.bad, audit.blank, audit.passed_over, audit.columns) if is_alone else []),
        ("true pairs", f"{counted(audit.pairs, 'pair')} with a document of the sample, {audit.found:,} found"),
        ("recall", _recall(audit)),
        ("promise", _promise(audit)),
        ("precision", _precision(audit)),
        *_notes(audit),
        ("time", _time(audit)),
        *([("written", ", ".join(files))] if files else []),
    ]
    table = ["", *_table([each for each in audit.bins if each.pairs], audit.threshold)] if audit.pairs else []
    return [*labelled(rows), *table, "", f"{'verdict':<{LABEL_WIDTH}}{audit.verdict}"]


def _recall(audit: Audit) -> str:
    if audit.recall is None:
        return "unknown"
    if audit.sampled == audit.documents:
        return f"{shown(audit.recall)}: all documents were sampled"
    interval = f"{shown(audit.recall_low)} to {shown(audit.recall_high)}"
    return (
        f"{shown(audit.recall)}; over all documents {interval} (95 % interval, design effect {audit.design_effect:.1f})"
    )


def _promise(audit: Audit) -> str:
    if audit.promised is None:
        return "none: candidates are found by other shingles than pairs are checked by"
    at = f"{shown(audit.promised)} of pairs at {audit.threshold:g}"
    return at if audit.theory is None else f"{at}, {shown(audit.theory)} of these"


def _precision(audit: Audit) -> str:
    if audit.precision is None:
        return "no pair found with a document of the sample"
    listed = f"{counted(audit.listed, 'pair')} found with a document of the sample"
    return f"{shown(audit.precision)}: {audit.false_pairs:,} false of {listed}"


def _notes(audit: Audit) -> list[tuple[str, str]]:
    """What the figures leave out, and what is in them without a promise."""
    notes = []
    if audit.crowd_documents:
        drawn = counted(audit.crowd_documents, "document")
        notes.append(("crowds", f"{drawn} of the sample in crowds: pairs between two of them are not counted"))
    if audit.overfull:
        left = counted(audit.overfull, "document")
        notes.append(
            ("overfull", f"{left} in groups too large to pair up: their pairs are counted, recall not promised")
        )
    return notes


def _time(audit: Audit) -> str:
    spent = audit.seconds.get("audit", 0.0)
    search = sum(value for name, value in audit.seconds.items() if name != "audit")
    read = audit.seconds.get("read", 0.0)
    text = megabytes(audit.read_bytes)
    return f"search {duration(search)} ({duration(read)} to read {text}), audit {duration(spent)}"


def _table(bins: Sequence[AuditBin], threshold: float) -> list[str]:
    """The bins that have pairs, under a header."""
    head = ("similarity", "pairs", "found", "recall", "95 % interval", "promised")
    columns = len(head) - all(each.theory is None for each in bins)
    cells = [row[:columns] for row in (head, *(_cells(each, threshold) for each in bins))]
    widths = [max(len(row[i]) for row in cells) for i in range(columns)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in range(1, columns))]).rstrip()
        for row in cells
    ]


def _cells(each: AuditBin, threshold: float) -> tuple[str, ...]:
    assert each.recall is not None
    low, high = (similarity_text(value, threshold) for value in (each.low, each.high))
    return (
        low if each.low == each.high else f"{low} to {high}",
        f"{each.pairs:,}",
        f"{each.found:,}",
        shown(each.recall),
        f"{shown(each.recall_low)} to {shown(each.recall_high)}",
        "" if each.theory is None else shown(each.theory),
    )
