"""The texts at the end of a run: the summary, its closing line, and the table of pairs on a terminal.

This module turns figures into text and decides nothing. ``neardup.shown`` formats figures, and ``voice`` escapes
terminal control characters.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neardup.cli.pair_table import one_line
from neardup.inputs.columns import ReadColumns, column_words
from neardup.inputs.passed import PassedOver, passed_rows
from neardup.params import LOCAL, Preset
from neardup.shown import by_cause, counted, duration, megabytes, percent, shown, similarity_text

FAULTS_SHOWN = 20
CROWDS_SHOWN = 5
SOURCES_SHOWN = 10
"""The number of sources in the summary of a clean-up: those that lost most."""
ALARM = "ALARM"
"""The start of the line of a source that lost too much."""
LABEL_WIDTH = 14
EXAMPLE_WIDTH = 100
"""The columns for a text if stderr is not a terminal."""


def with_writing(summary: Mapping[str, Any], seconds: float, top: int | None = None) -> dict[str, Any]:
    """Return the summary with the time of writing as a stage; its total includes it already.

    If only the ``top`` most similar pairs are listed, their number is added too.
    """
    stages = {**summary["seconds"], "write": round(summary["seconds"].get("write", 0.0) + seconds, 4)}
    listed = {} if top is None else {"listed": min(top, summary["pairs"])}
    return {**summary, **listed, "seconds": stages}


def closing_line(summary: Mapping[str, Any], files: Sequence[str]) -> str:
    """Return the last line on stderr: the findings, the files written, the time taken."""
    return closing(counted(summary["pairs"], "pair"), files, summary["total_seconds"])


def summary_lines(
    summary: Mapping[str, Any],
    *,
    crowds: Sequence[Mapping[str, Any]],
    faults: Sequence[object],
    verbose: bool,
) -> list[str]:
    """Return the summary for a person, a line an item; ``summary`` is ``Summary.as_dict()``."""
    rows = [
        *_read_rows(summary),
        ("pairs", f"{_number(summary['pairs'])} of {_measured(summary)}{_how_listed(summary)}"),
        *([("clusters", f"{summary['clusters']:,}, linked as {summary['link']}")] if summary["clusters"] else []),
        *_crowd_rows(summary, crowds),
        *_cost_rows(summary),
        *_spec_rows(summary, verbose),
        *hint_rows(summary["hints"]),
    ]
    return labelled(rows) + listed_faults(summary["bad"], faults)


def clean_lines(
    summary: Mapping[str, Any], *, faults: Sequence[object], verbose: bool, passages: Sequence[tuple[str, str]] = ()
) -> list[str]:
    """Return the summary of a clean-up for a person, a line an item; ``summary`` is ``CleanSummary.as_dict()``.

    ``passages``: what is to be said of passages that were cut.
    """
    removed, free = summary["removed"], summary["documents"] - summary["protected"]
    would = "would be " if _is_spared(summary) else ""
    share = f"{removed:,} of {counted(free, 'document')} ({percent(removed, free)})"
    share += " that are not protected" if summary["protected"] else ""
    kept = "what can be opened is kept as it is" if summary["unreadable"] else "and kept as they are"
    protected = f"; {counted(summary['protected'], 'document')} protected" if summary["protected"] else ""
    rows = [
        *_read_rows(summary),
        *_found_rows(summary),
        ("removed", f"none; would be removed: {share}" if would else share),
        ("kept", f"{would}{summary['kept']:,}{_policy(summary)}{protected}"),
        *_not_copied(summary),
        *([("clusters", _clusters(summary))] if summary["clusters"] else []),
        *_crowd_rows(summary, []),
        *passages,
        *_source_rows(summary["sources"]),
        *_alarm_rows(summary),
        *_cost_rows(summary),
        *_spec_rows(summary, verbose),
        *hint_rows(summary["hints"]),
    ]
    return labelled(rows) + listed_faults(summary["bad"], faults, fate=f"not compared, {kept}")


def clean_closing_line(summary: Mapping[str, Any], files: Sequence[str]) -> str:
    """Return the last line of a clean-up on stderr: documents removed and kept, files written, time taken."""
    would = " would be" if _is_spared(summary) else ""
    found = f"{summary['removed']:,}{would} removed, {summary['kept']:,}{would} kept"
    return closing(found, files, summary["total_seconds"])


def example_lines(examples: Sequence[Mapping[str, Any]], summary: Mapping[str, Any], *, width: int | None) -> list[str]:
    """Return lines for some rows of ``Cleaning.examples`` and the summary of their run; each text takes one line."""
    gap = " " * LABEL_WIDTH
    if not examples:
        return [f"{'examples':<{LABEL_WIDTH}}none: no document is removed", ""]
    would = "would be" if _is_spared(summary) else "were"
    share = f"{len(examples):,} of {summary['removed']:,} that {would} removed"
    lines = [f"{'examples':<{LABEL_WIDTH}}{share}", ""]
    for each in examples:
        removed, kept = (
            one_line(shown(each[name]), (width or EXAMPLE_WIDTH) - len(gap)) for name in ("text", "keeper_text")
        )
        is_same = each["text"] == each["keeper_text"]
        reason = f", by the rule {shown(each['rule'])}{', the same text' if is_same else ''}"
        lines += [
            f"{similarity_text(each['similarity'], summary['threshold']):<{LABEL_WIDTH}}removed  {shown(each['id'])}",
            *([] if is_same else [gap + removed]),
            f"{gap}kept     {shown(each['keeper'])}{reason}",
            gap + kept,
            "",
        ]
    return lines


def closing(found: str, files: Sequence[str], seconds: float) -> str:
    """Return a last line: the findings, the seconds, and the files written."""
    written = f"; {listed(files)} written" if files else ""
    return f"neardup: {found} in {duration(seconds)}{written}"


def listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _is_spared(summary: Mapping[str, Any]) -> bool:
    """Return whether nothing was actually removed."""
    return bool(summary["dry_run"] or summary["annotated"])


def labelled(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Return lines of labels and texts; a label of the full width is followed by a space."""
    padded = [(f"{label:<{LABEL_WIDTH}}", text) for label, text in rows]
    return [label + text if label.endswith(" ") else f"{label} {text}" for label, text in padded]


def below_label(label: str, texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return a row for each text; only the first row has the label."""
    return [("" if i else label, text) for i, text in enumerate(texts)]


def _read_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        ("documents", _documents(summary)),
        *left_out_of(summary),
        *([("exact copies", f"{summary['exact_copies']:,}")] if summary["exact_copies"] else []),
        ("candidates", _candidates(summary)),
    ]


def _candidates(summary: Mapping[str, Any]) -> str:
    """Describe the way from candidate pairs to checked ones, in the words of progress and of the JSON summary."""
    met = {"banding": "a band", "overlap join": "an n-gram"}.get(summary["method"], "a rare shingle")
    if not summary["candidates"] and not summary["checked"]:
        return f"none: no two distinct texts share {met}"
    return f"{counted(summary['candidates'], 'pair')} sharing {met}; {_number(summary['checked'])} checked exactly"


def _number(count: int) -> str:
    return f"{count:,}" if count else "none"


def _how_listed(summary: Mapping[str, Any]) -> str:
    """Describe the part of the pairs in the table, if it does not have all."""
    listed = summary.get("listed", summary["pairs"])
    return f"; listed are the {listed:,} most similar" if listed < summary["pairs"] else ""


def _cost_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    stages = ", ".join(f"{name} {duration(spent)}" for name, spent in summary["seconds"].items() if spent >= 0.005)
    speed = summary["mb_per_second"]
    memory = f"{megabytes(summary['peak_memory'])} of {megabytes(summary['memory_limit'])}"
    who = counted(summary["threads"], "thread")
    if summary["engine"] != LOCAL:
        who, memory = f"{summary['engine'].capitalize()} at {summary['master']}", f"{memory} on the driver"
    over = summary["peak_memory"] - summary["memory_limit"]
    cure = "Where more memory ends the process, run with a smaller --memory, or with --threads 1."
    return [
        ("recall", _recall(summary)),
        *([("method", f"{summary['method']}, {summary['choice']}")] if summary["choice"] else []),
        *([("time", stages)] if stages else []),
        ("speed", f"{speed:{'.1f' if speed >= 10 else '.2g'}} MB/s with {who}"),
        *_exchanged_rows(summary["exchanged"]),
        ("peak memory", f"{memory}; {megabytes(summary['spooled'])} on disk" if summary["spooled"] else memory),
        *([("OVER LIMIT", f"by {megabytes(over)}. {cure}")] if over > 0 else []),
    ]


def _exchanged_rows(exchanged: Mapping[str, int]) -> list[tuple[str, str]]:
    """Describe the data exchanged between the tasks of a cluster."""
    if not exchanged:
        return []
    stages = ", ".join(f"{name} {megabytes(size)}" for name, size in exchanged.items())
    return [("exchanged", f"{megabytes(sum(exchanged.values()))} between tasks: {stages}")]


def _spec_rows(summary: Mapping[str, Any], verbose: bool) -> list[tuple[str, str]]:
    own = [("spec", summary["spec_id"]), *whole_spec(summary["spec"], verbose=verbose)]
    return [*preset_rows(summary["preset"]), *own]


def _not_copied(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Describe the files that are missing from the copies of a folder."""
    passed = [PassedOver(**each) for each in summary["passed_over"] if each["reason"] != "further sheet"]
    files = sum(each.count for each in passed if not each.is_folder)
    folders = sum(each.count for each in passed if each.is_folder)
    told = [counted(files, "file")] * bool(files) + [counted(folders, "folder")] * bool(folders)
    parts = [f"{' and '.join(told)} passed over"] if told else []
    if summary["unreadable"]:
        parts.append(f"{counted(summary['unreadable'], 'file')} that cannot be opened")
    return [("not copied", f"{', '.join(parts)}: a clean copy has only what was read")] if parts else []


def _policy(summary: Mapping[str, Any]) -> str:
    return "" if "overlap" in summary["spec"] else f", by the rule {summary['keep']}"


def _measured(summary: Mapping[str, Any]) -> str:
    return f"{summary['spec'].get('measure', 'similarity')} {summary['threshold']:g} or more"


def _found_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Describe the findings of a clean-up."""
    rule = summary["spec"].get("overlap")
    if rule is None:
        return [("pairs", f"{_number(summary['pairs'])} of distinct texts of {_measured(summary)}")]
    rows = [("overlap", f"{counted(summary['removed'], 'document')} with a protected one, by the rule {rule}")]
    if summary["short_protected"]:
        short = counted(summary["short_protected"], "protected document")
        rows.append(
            ("too short", f"{short} of less than one n-gram ({summary['spec']['shingle']}): only equal texts are found")
        )
    return rows


def _clusters(summary: Mapping[str, Any]) -> str:
    largest = counted(summary["largest_cluster"], "document")
    kept = "none is kept" if summary["largest_keeper"] is None else f"kept is {summary['largest_keeper']}"
    return f"{summary['clusters']:,}; the largest has {largest}, {kept}"


def _source_rows(sources: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return rows for the sources that lost most, if there are several sources."""
    losers = sorted((source for source in sources if source["removed"]), key=lambda source: -source["removed"])
    if len(sources) < 2 or not losers:
        return []
    listed = losers[:SOURCES_SHOWN]
    width = max(len(shown(source["source"])) for source in listed)
    rows = below_label(
        "sources",
        (
            f"{shown(source['source']):<{width}}  {source['removed']:,} of {source['documents']:,}"
            f" ({percent(source['removed'], source['documents'])})"
            for source in listed
        ),
    )
    rest = len(losers) - len(listed)
    untouched = len(sources) - len(losers)
    tail = [f"{rest:,} more that lost some"] * bool(rest) + [f"{untouched:,} that lost nothing"] * bool(untouched)
    return [*rows, ("", f"and {', '.join(tail)}")] if tail else rows


def _alarm_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return a row for each folder with sources that lost too much; the shards of one collection share a row."""
    folders: dict[str, list[Mapping[str, Any]]] = {}
    for source in summary["sources"]:
        if source["source"] in summary["alarms"]:
            folders.setdefault(os.path.dirname(source["source"]), []).append(source)
    rows = []
    for folder, sources in folders.items():
        removed, documents = (sum(source[name] for source in sources) for name in ("removed", "documents"))
        single = sources[0]["source"] if len(sources) == 1 else None
        name = single or f"{len(sources):,} sources in {folder or 'one place'}"
        loss = f"{'loses' if single else 'lose'} {percent(removed, documents)} of {counted(documents, 'document')}"
        rows.append((ALARM, f"{name} {loss}, more than {100 * summary['alarm']:g} %{'' if single else ' of each'}"))
    more = len(rows) - SOURCES_SHOWN
    return [*rows[:SOURCES_SHOWN], (ALARM, f"and {counted(more, 'folder')} more")] if more > 0 else rows


def _documents(summary: Mapping[str, Any]) -> str:
    which = "one shingle" if "candidates_by" not in summary["spec"] else "a shingle of the candidates"
    notes = [f"{summary['empty']:,} empty"] if summary["empty"] else []
    if summary["short"]:
        notes.append(f"{summary['short']:,} shorter than {which}")
    if summary["duplicate_ids"]:
        example = summary["duplicate_id_example"]
        notes.append(f"{summary['duplicate_ids']:,} with an id seen before, such as {example}")
    return ", ".join([f"{summary['documents']:,} ({megabytes(summary['bytes'])})", *notes])


def _recall(summary: Mapping[str, Any]) -> str:
    if summary["recall"] is None:
        return (
            f"not promised; measure it with neardup audit or --audit (candidates by"
            f" {summary['spec']['candidates_by']}, {summary['bands']} bands, {summary['slots']} slots)"
        )
    if summary["method"] != "banding":
        return f"1: the {summary['method']} misses no pair"
    promised = f"{similarity_text(summary['recall'], 0.0)} promised for a pair at {summary['threshold']:g}"
    if summary["overfull"]:
        promised += f", for {summary['documents'] - summary['overfull']:,} of {summary['documents']:,} documents"
    return f"{promised} ({summary['bands']} bands, {summary['slots']} slots, {summary['sketch']})"


def _crowd_rows(summary: Mapping[str, Any], crowds: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    rows = []
    if summary["overfull"]:
        left = counted(summary["overfull"], "document")
        rows.append(("overfull", f"{left} in groups too large to pair up, compared with leaders only"))
    if not summary["crowds"]:
        return rows
    listed = sorted(crowds, key=lambda crowd: -crowd["documents"])
    whole = f"{counted(summary['crowd_documents'], 'document')} in all, listed as stars"
    unlisted = sum((crowd["documents"] - 1) * (crowd["documents"] - 2) // 2 for crowd in crowds)
    whole += f"; {counted(unlisted, 'pair')} inside crowds not listed" * bool(unlisted)
    rows.append(("crowds", f"{summary['crowds']:,} of {whole}"))
    rows += [("", f"{crowd['leader']}: {counted(crowd['documents'], 'document')}") for crowd in listed[:CROWDS_SHOWN]]
    if len(listed) > CROWDS_SHOWN:
        rows.append(("", f"and {len(listed) - CROWDS_SHOWN:,} more"))
    return rows


def listed_faults(bad: int, faults: Sequence[object], *, fate: str = "left out") -> list[str]:
    """Return the first bad records, under a line that states their number and outcome."""
    if not bad:
        return []
    listed = by_cause(faults)[:FAULTS_SHOWN]
    rest = bad - sum(count for _, count in listed)
    more = [f"  and {rest:,} more"] if rest > 0 else []
    return [f"bad records, {fate} ({bad:,}):", *(f"  {line}" for line, _ in listed), *more]


def left_out(
    bad: int, blank: int, passed_over: Sequence[PassedOver], columns: Sequence[ReadColumns] = ()
) -> list[tuple[str, str]]:
    """Return rows about the inputs that were left out and the columns that were read."""
    records = [counted(bad, "bad record")] * bool(bad) + [counted(blank, "blank line")] * bool(blank)
    rows = [("left out", ", ".join(records))] if records else []
    named = [("columns", words)] if (words := column_words(columns)) else []
    return [*rows, *passed_rows(passed_over), *named]


def left_out_of(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the rows of ``left_out`` for a summary as JSON values."""
    passed_over = [PassedOver(**each) for each in summary["passed_over"]]
    return left_out(summary["bad"], summary["blank"], passed_over, [ReadColumns(**each) for each in summary["columns"]])


def preset_rows(preset: Preset | Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Describe the options that a preset, given as itself or as ``Preset.as_dict``, stands for."""
    used = Preset(**preset) if isinstance(preset, Mapping) else preset
    return [] if used is None else [("settings", str(used))]


def hint_rows(hints: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the hints on settings, each with the command to try if there is one."""
    rows = []
    for hint in hints:
        rows += [("hint", hint["text"]), *([("", f"try: {hint['command']}")] if "command" in hint else [])]
    return rows


def whole_spec(spec: Mapping[str, Any], *, verbose: bool) -> list[tuple[str, str]]:
    """Return every field of a spec, if ``verbose``."""
    return [(f"  {key}", str(value)) for key, value in spec.items()] if verbose else []
