"""What a run says when it is over: the summary, its closing line, and the table of pairs on a terminal.

Everything here turns figures into text and decides nothing; how a figure is written is in ``neardup.shown``,
and what would steer a terminal is escaped in ``voice``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neardup.inputs.columns import ReadColumns, column_words
from neardup.inputs.passed import PassedOver, passed_rows
from neardup.shown import counted, duration, megabytes, percent, shown, similarity_text

TABLE_ROWS = 50
"""Pairs that a terminal table shows."""
FAULTS_SHOWN = 20
CROWDS_SHOWN = 5
SOURCES_SHOWN = 10
"""Sources that the summary of a clean-up tells of: those that lost most."""
ALARM = "ALARM"
"""How the line of a source that lost too much begins."""
LABEL_WIDTH = 14


def with_writing(summary: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Return the summary with the time of writing as a stage; its total has it already."""
    stages = {**summary["seconds"], "write": round(summary["seconds"].get("write", 0.0) + seconds, 4)}
    return {**summary, "seconds": stages}


def closing_line(summary: Mapping[str, Any]) -> str:
    """Return the last line on stderr: counts, seconds, threads and spec id."""
    candidates, pairs = counted(summary["candidates"], "candidate"), counted(summary["pairs"], "pair")
    return _closing(summary, candidates, f"{summary['checked']:,} checked", pairs)


def summary_lines(
    summary: Mapping[str, Any],
    *,
    crowds: Sequence[Mapping[str, Any]],
    faults: Sequence[object],
    files: Sequence[str],
    verbose: bool,
) -> list[str]:
    """Return the summary for a person, a line an item; ``summary`` is ``Summary.as_dict()``."""
    measure = "containment" if "measure" in summary["spec"] else "similarity"
    rows = [
        *_read_rows(summary),
        ("pairs", f"{summary['pairs']:,} of {measure} {summary['threshold']:g} or more"),
        ("clusters", f"{summary['clusters']:,}, linked as {summary['link']}"),
        *_crowd_rows(summary, crowds),
        *_cost_rows(summary),
        *([("written", ", ".join(files))] if files else []),
        *_spec_rows(summary, verbose),
    ]
    return labelled(rows) + listed_faults(summary["bad"], faults)


def clean_lines(
    summary: Mapping[str, Any], *, faults: Sequence[object], files: Sequence[str], verbose: bool
) -> list[str]:
    """Return the summary of a clean-up for a person, a line an item; ``summary`` is ``CleanSummary.as_dict()``."""
    documents, removed = summary["documents"], summary["removed"]
    would = "would be " if _is_spared(summary) else ""
    share = f"{removed:,} of {counted(documents, 'document')} ({percent(removed, documents)})"
    kept = "what can be opened is kept as it is" if summary["unreadable"] else "and kept as they are"
    protected = f"; {counted(summary['protected'], 'document')} protected" if summary["protected"] else ""
    rows = [
        *_read_rows(summary),
        ("pairs", f"{summary['pairs']:,} of distinct texts of similarity {summary['threshold']:g} or more"),
        ("removed", f"none; would be removed: {share}" if would else share),
        ("kept", f"{would}{summary['kept']:,}, by the rule {summary['keep']}{protected}"),
        *_not_copied(summary),
        ("clusters", _clusters(summary)),
        *_crowd_rows(summary, []),
        *_source_rows(summary["sources"]),
        *_alarm_rows(summary),
        *_cost_rows(summary),
        *([("written", ", ".join(files))] if files else []),
        *_spec_rows(summary, verbose),
    ]
    return labelled(rows) + listed_faults(summary["bad"], faults, fate=f"not compared, {kept}")


def clean_closing_line(summary: Mapping[str, Any]) -> str:
    """Return the last line of a clean-up on stderr: counts, seconds, threads and spec id."""
    would = " would be" if _is_spared(summary) else ""
    removed, kept = f"{summary['removed']:,}{would} removed", f"{summary['kept']:,}{would} kept"
    return _closing(summary, f"{summary['checked']:,} checked", removed, kept)


def _closing(summary: Mapping[str, Any], *found: str) -> str:
    parts = [
        counted(summary["documents"], "document"),
        *found,
        counted(summary["clusters"], "cluster"),
        duration(summary["total_seconds"]),
        counted(summary["threads"], "thread"),
        f"spec {summary['spec_id']}",
    ]
    return f"neardup: {', '.join(parts)}"


def _is_spared(summary: Mapping[str, Any]) -> bool:
    """Whether nothing was removed in truth."""
    return bool(summary["dry_run"] or summary["annotated"])


def labelled(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Lines of a label and what belongs to it; a label that takes the whole width has a space behind it."""
    padded = [(f"{label:<{LABEL_WIDTH}}", text) for label, text in rows]
    return [label + text if label.endswith(" ") else f"{label} {text}" for label, text in padded]


def _read_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        ("documents", _documents(summary)),
        *left_out(
            *(summary["bad"], summary["blank"], [PassedOver(**each) for each in summary["passed_over"]]),
            [ReadColumns(**each) for each in summary["columns"]],
        ),
        ("exact copies", f"{summary['exact_copies']:,}"),
        ("candidates", f"{summary['candidates']:,}; {counted(summary['checked'], 'pair')} checked exactly"),
    ]


def _cost_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    stages = ", ".join(f"{name} {duration(spent)}" for name, spent in summary["seconds"].items())
    speed = summary["mb_per_second"]
    memory = f"{megabytes(summary['peak_memory'])} of {megabytes(summary['memory_limit'])}"
    return [
        ("recall", _recall(summary)),
        *([("method", f"{summary['method']}, {summary['choice']}")] if summary["choice"] else []),
        ("time", f"{duration(summary['total_seconds'])}: {stages}"),
        ("speed", f"{speed:{'.1f' if speed >= 10 else '.2g'}} MB/s with {counted(summary['threads'], 'thread')}"),
        ("peak memory", f"{memory}; {megabytes(summary['spooled'])} on disk" if summary["spooled"] else memory),
    ]


def _spec_rows(summary: Mapping[str, Any], verbose: bool) -> list[tuple[str, str]]:
    return [("spec", summary["spec_id"]), *whole_spec(summary["spec"], verbose=verbose)]


def _not_copied(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What would be missed by whoever takes the copies for the whole folder."""
    passed = [PassedOver(**each) for each in summary["passed_over"] if each["reason"] != "further sheet"]
    files = sum(each.count for each in passed if not each.is_folder)
    folders = sum(each.count for each in passed if each.is_folder)
    told = [counted(files, "file")] * bool(files) + [counted(folders, "folder")] * bool(folders)
    parts = [f"{' and '.join(told)} passed over"] if told else []
    if summary["unreadable"]:
        parts.append(f"{counted(summary['unreadable'], 'file')} that cannot be opened")
    return [("not copied", f"{', '.join(parts)}: a clean copy has only what was read")] if parts else []


def _clusters(summary: Mapping[str, Any]) -> str:
    if not summary["clusters"]:
        return "0"
    largest = counted(summary["largest_cluster"], "document")
    return f"{summary['clusters']:,}; the largest has {largest}, kept is {summary['largest_keeper']}"


def _source_rows(sources: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The sources that lost most, where there are several."""
    losers = sorted((source for source in sources if source["removed"]), key=lambda source: -source["removed"])
    if len(sources) < 2 or not losers:
        return []
    listed = losers[:SOURCES_SHOWN]
    width = max(len(shown(source["source"])) for source in listed)
    rows = [
        (
            "" if i else "sources",
            f"{shown(source['source']):<{width}}  {source['removed']:,} of {source['documents']:,}"
            f" ({percent(source['removed'], source['documents'])})",
        )
        for i, source in enumerate(listed)
    ]
    rest = len(losers) - len(listed)
    untouched = len(sources) - len(losers)
    tail = [f"{rest:,} more that lost some"] * bool(rest) + [f"{untouched:,} that lost nothing"] * bool(untouched)
    return [*rows, ("", f"and {', '.join(tail)}")] if tail else rows


def _alarm_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    lost = {source["source"]: source for source in summary["sources"]}
    listed = [lost[name] for name in summary["alarms"][:SOURCES_SHOWN]]
    rows = [
        (
            ALARM,
            f"{source['source']} loses {percent(source['removed'], source['documents'])} of"
            f" {counted(source['documents'], 'document')}, more than {100 * summary['alarm']:g} %",
        )
        for source in listed
    ]
    more = len(summary["alarms"]) - len(listed)
    return [*rows, (ALARM, f"and {counted(more, 'source')} more")] if more else rows


def _documents(summary: Mapping[str, Any]) -> str:
    notes = [f"{summary['empty']:,} empty", f"{summary['short']:,} shorter than one shingle"]
    if summary["duplicate_ids"]:
        example = summary["duplicate_id_example"]
        notes.append(f"{summary['duplicate_ids']:,} with an id seen before, such as {example}")
    return f"{summary['documents']:,} ({megabytes(summary['bytes'])}), {', '.join(notes)}"


def _recall(summary: Mapping[str, Any]) -> str:
    if summary["method"] != "banding":
        return f"1: the {summary['method']} misses no pair"
    return (
        f"{similarity_text(summary['recall'], 0.0)} promised for a pair at {summary['threshold']:g}"
        f" ({summary['bands']} bands, {summary['slots']} slots, {summary['sketch']})"
    )


def _crowd_rows(summary: Mapping[str, Any], crowds: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    rows = []
    if summary["overfull"]:
        left = counted(summary["overfull"], "document")
        rows.append(("overfull", f"{left} in groups too large to pair up, compared with leaders only: no promise"))
    if not summary["crowds"]:
        return rows
    listed = sorted(crowds, key=lambda crowd: -crowd["documents"])
    whole = f"{counted(summary['crowd_documents'], 'document')} in all, listed as stars"
    rows.append(("crowds", f"{summary['crowds']:,} of {whole}"))
    rows += [("", f"{crowd['leader']}: {counted(crowd['documents'], 'document')}") for crowd in listed[:CROWDS_SHOWN]]
    if len(listed) > CROWDS_SHOWN:
        rows.append(("", f"and {len(listed) - CROWDS_SHOWN:,} more"))
    return rows


def listed_faults(bad: int, faults: Sequence[object], *, fate: str = "left out") -> list[str]:
    """The first of so many bad records, under a line that says what became of them."""
    if not bad:
        return []
    listed = [f"  {fault}" for fault in faults[:FAULTS_SHOWN]]
    more = [f"  and {bad - len(listed):,} more"] if bad > len(listed) else []
    return [f"bad records, {fate} ({bad:,}):", *listed, *more]


def print_pairs(batches: Any, *, threshold: float) -> None:
    """Print the first rows of a table, or of a stream of Arrow batches, to stdout for the eye; reads all of it."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    count = 0
    for batch in batches.to_batches() if hasattr(batches, "to_batches") else batches:
        if not table.columns:
            is_contained = "contained" in batch.schema.names
            for name in batch.schema.names:
                shown = "containment" if is_contained and name == "similarity" else name
                table.add_column(shown, **({"no_wrap": True} if name == "similarity" else {"overflow": "fold"}))
        for row in batch.slice(0, max(0, TABLE_ROWS - count)).to_pylist():
            table.add_row(*(Text(_cell(value, threshold)) for value in row.values()))
        count += batch.num_rows
    console = Console(highlight=False)
    if count:
        console.print(table)
    if count > TABLE_ROWS:
        console.print(f"… and {count - TABLE_ROWS:,} more; -o FILE writes all")


def _cell(value: object, threshold: float) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return similarity_text(value, threshold)
    return str(value).lower() if isinstance(value, bool) else shown(value)


def left_out(
    bad: int,
    blank: int,
    passed_over: Sequence[PassedOver],
    columns: Sequence[ReadColumns] = (),
    *,
    if_none: bool = True,
) -> list[tuple[str, str]]:
    """What was left out of inputs, and what was read of tables, for a person; ``if_none``: also that no record was."""
    records = [("left out", f"{counted(bad, 'bad record')}, {counted(blank, 'blank line')}")]
    words = column_words(columns)
    named = [("columns", words)] if words else []
    return [*(records if if_none or bad or blank else []), *passed_rows(passed_over), *named]


def whole_spec(spec: Mapping[str, Any], *, verbose: bool) -> list[tuple[str, str]]:
    """Every field of a spec, where that is asked for."""
    return [(f"  {key}", str(value)) for key, value in spec.items()] if verbose else []
