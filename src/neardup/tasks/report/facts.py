"""What a report says in words: what was read, left out and found, what is promised, and what is not in the pages."""

from __future__ import annotations

from typing import Any

import numpy as np

from neardup.engine.fit import Hint
from neardup.inputs.columns import column_words
from neardup.inputs.passed import passed_words
from neardup.params import CONTAINMENT, COPYING, as_options
from neardup.result import Summary
from neardup.shown import counted, megabytes
from neardup.tasks.audit.outcome import Audit
from neardup.tasks.report.clusters import FAR, LONG, NEAR, RANDOM
from neardup.tasks.report.curve import Count, Linked
from neardup.tasks.report.pages import Contents, Pages
from neardup.tasks.report.ranking import thousandths
from neardup.tasks.report.report_input import ReportInput
from neardup.tasks.report.roles import EARLIER, ORIGINAL

MEASURES = {
    "jaccard": "Jaccard similarity: of all shingles of two documents, the share that both have",
    CONTAINMENT: "containment: of the shingles of the smaller of two documents, the share that the larger has",
}
RULES = {
    "star": "each member forms a found pair with the representative",
    "connected": "all documents that a chain of pairs joins",
}


def words(summary: Summary, linked: Linked, purpose: str, highest: float) -> dict[str, str]:
    """Return the words of the pages that depend on the purpose; ``highest`` is the highest share of a pair."""
    if purpose == COPYING:
        found = f"The highest share of a document that stands in another one is {thousandths(highest) / 10:.1f}%."
        beyond, outcome = "Documents beyond one of each cluster", found if highest else ""
        return {"keeper": "representative", "removed": beyond, "outcome": outcome}
    removed = int(linked.removed[0])
    share = f" ({thousandths(removed / summary.documents) / 10:.1f}%)" if summary.documents else ""
    outcome = (
        f"If one document of each cluster is kept, {counted(removed, 'document')} "
        f"{'is' if removed == 1 else 'are'} removed{share}."
    )
    return {"keeper": "representative", "removed": "Documents removed", "outcome": outcome}


def facts(basis: ReportInput, summary: Summary, audit: Audit | None) -> list[list[str]]:
    """The rows of the summary, label and text; what is zero has none.

    What the page says above them, or as the recall, is not said again. Nothing here depends on the machine or on how
    the work was done.
    """
    is_named = basis.pseudonyms is None  # else nothing may say what anything is called
    example = f", such as {summary.duplicate_id_example}" if summary.duplicate_ids and is_named else ""
    left_out = [counted(n, what) for n, what in ((summary.bad, "bad record"), (summary.blank, "blank line")) if n]
    rows = [
        *([("inputs", ", ".join(basis.run.reader.sources))] if is_named else []),
        *_whose(basis),
        ("text", megabytes(summary.bytes)),
        *([("left out", ", ".join(left_out))] if left_out else []),
        *([("passed over", passed_words(summary.passed_over))] if summary.passed_over and is_named else []),
        *([("columns", text)] if (text := column_words(summary.columns)) and is_named else []),
        *_documents("empty", summary.empty, "without a shingle, in no pair"),
        *_documents("short", summary.short, f"of less than one shingle, {_short(basis)}"),
        *_documents("repeated ids", summary.duplicate_ids, f"with an id seen before{example}"),
        *_documents("exact copies", summary.exact_copies, "with the text of an earlier one"),
        ("measure", MEASURES[basis.run.spec.measure]),
        *(
            [("pairs", f"read from {basis.pairs_from if is_named else 'a file'}")]
            if basis.pairs_from is not None
            else []
        ),
        ("clusters", f"{summary.link}: {RULES[summary.link]}"),
        *([("settings", str(summary.preset))] if summary.preset is not None else []),
        *([] if audit is None else [("measured", f"{audit.verdict} ({counted(audit.sampled, 'document')} sampled)")]),
        *_skipped(basis, summary),
        *(("hint", _hint(hint)) for hint in summary.hints),
    ]
    return [[label, text] for label, text in rows]


def _whose(basis: ReportInput) -> list[tuple[str, str]]:
    """What part documents have, whose they are, what of their texts does not count, and what they are called here."""
    people, template, rows = basis.people, basis.run.template, []
    for role, told in ((ORIGINAL, "originals"), (EARLIER, "earlier")):
        number = int(np.count_nonzero(people.role == role))
        beside = "compared with the submissions, not with each other" if number else ""
        rows += _documents(told, number, beside)
    if people.is_grouped:
        apart = f"; {counted(people.unnamed, 'document')} of no known person, each by itself" if people.unnamed else ""
        several = "documents of one person are not compared with each other"
        number = people.submitting()
        rows.append(("people", f"{number:,} {'person' if number == 1 else 'people'}; {several}{apart}"))
    if template is not None:
        shingles = counted(len(template.shingles), "shingle")
        rows.append(("ignored", f"{counted(len(template.passages), 'passage')} with {shingles}, which do not count"))
    if basis.pseudonyms is not None:
        hidden = "names of people and documents, of inputs, and of records that could not be used are left out"
        rows.append(("pseudonyms", f"{hidden}; texts are as they were written, and may hold names"))
    return rows


def _documents(label: str, number: int, what: str) -> list[tuple[str, str]]:
    """The row that counts documents of a kind; none where there are none."""
    return [(label, f"{counted(number, 'document')} {what}")] if number else []


def _hint(hint: Hint) -> str:
    if hint.preset is not None:
        return f"{hint.text} Try --for {hint.preset} (preset=)."
    return f"{hint.text} Try {as_options(hint.options)} ({', '.join(f'{name}=' for name in hint.options)})."


def audit_of(audit: Audit | None) -> dict[str, Any] | None:
    """What the summary page shows of an audit; None where there is no recall or no precision to show."""
    if audit is None or audit.recall is None or audit.precision is None:
        return None
    return {
        "recall": audit.recall,
        "low": audit.recall_low,
        "high": audit.recall_high,
        "pairs": audit.pairs,
        "documents": audit.sampled,
        "precision": audit.precision,
    }


def _short(basis: ReportInput) -> str:
    """What becomes of a document of less than one shingle."""
    if basis.run.spec.candidates_by is None or basis.pairs_from is not None:
        return "compared as a whole"
    return f"{basis.run.spec.sketched}, by which candidates are found: compared with those of the same words only"


def _skipped(basis: ReportInput, summary: Summary) -> list[tuple[str, str]]:
    """Documents whose pairs are not all listed."""
    if basis.pairs_from is not None:
        return [("crowds", "a file of pairs does not name them; leaders were recognised by their many pairs")]
    crowds = f"{counted(summary.crowds, 'crowd')} of {counted(summary.crowd_documents, 'document')}"
    return [
        *_documents("overfull", summary.overfull, "in groups too large to pair up: recall not promised"),
        *([("crowds", f"{crowds}, paired with their leader only")] if summary.crowds else []),
    ]


def curve_note(basis: ReportInput, count: Count, most: int, purpose: str) -> str:
    """What the numbers at each threshold mean."""
    spec = basis.run.spec
    note = (
        f"Of the pairs found at {spec.threshold:g}, those that reach each threshold; from these clusters are made "
        f"again, by the rule {basis.rule}."
    )
    if purpose != COPYING:
        note += " Removed are all documents of each cluster but one."
    if not spec.exact and spec.threshold < 1.0:
        note += (
            f" A search with a higher threshold may find a few pairs more, since it does not miss the same ones as a "
            f"search at {spec.threshold:g}."
        )
    if basis.search.leads.size:
        note += (
            " Documents of a crowd have pairs with its leader only, so they leave its cluster together with that pair."
        )
    if count.thresholds.size < most:
        note += f" There are so many pairs that only {count.thresholds.size} thresholds were looked at."
    return note


def limits(contents: Contents, pages: Pages, *, found: int, apart: int, size: int) -> list[str]:
    """Everything that is left out of the pages, and why: a sentence each. ``found`` and ``apart`` count pairs."""
    groups, listed, paged_clusters = contents.groups, contents.listed, contents.paged
    told: list[str] = []
    paged = pages.page.size
    if apart:
        told.append(
            f"Found and on no page: {counted(apart, 'pair')} of documents in different clusters. --link "
            "connected (link=) puts documents that form a pair into one cluster."
        )
    if len(pages.listed) + apart < found:
        left_out = found - apart - len(pages.listed)
        told.append(
            f"Of the pairs of documents in one cluster {len(pages.listed):,} have a page and are listed; "
            f"{counted(left_out, 'pair')} {'has' if left_out == 1 else 'have'} none."
        )
    if listed < len(groups):
        told.append(f"The {listed:,} largest of {len(groups):,} clusters are listed.")
    if paged < listed:
        why = f"the report may have {megabytes(size)}"
        if paged_clusters.is_cut and paged == len(paged_clusters.shown):
            why = "the texts of more would take too long to be compared"
        told.append(f"Of the {listed:,} clusters listed the first {paged:,} have pages: {why}.")
    sampled = int(np.count_nonzero(groups.size[:paged] > contents.depth.members))
    if sampled and contents.depth.by_pairs:
        told.append(
            f"Of {counted(sampled, 'cluster')} with more than {contents.depth.members} members the representative is "
            "shown, with the members of the most similar pairs."
        )
    elif sampled:
        told.append(
            f"Of {counted(sampled, 'cluster')} with more than {contents.depth.members} members the representative is "
            f"shown, with the {NEAR} most and the {FAR} least similar to it, and {RANDOM} others."
        )
    if pages.partial:
        told.append(
            f"On {counted(pages.partial, 'page')} of large clusters the similarities of members that form no found "
            "pair were not computed."
        )
    long = sum(bool((lengths > LONG).any()) for lengths in paged_clusters.lengths[:paged])
    if long:
        told.append(f"Texts of more than {LONG:,} characters are shown only around what they share.")
    return told
