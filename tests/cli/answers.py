"""What each command prints with ``--json``, as JSON Schema: made of the dataclasses whose fields it prints.

Tests hold real answers of every command against these, and a field that they do not name is a fault.
"""

from __future__ import annotations

from typing import Any

from tests.cli.schemas import (
    DRAFT,
    FLAG,
    ID,
    NUMBER,
    OPTIONS,
    TEXT,
    WHOLE,
    Schema,
    Shapes,
    either,
    many,
    maybe,
    record,
    spec_shape,
)

STABLE = "Fields may be added in a later version; see STABILITY.md."


def answer_schemas() -> dict[str, Schema]:
    """The schema of what each command prints with --json, by the words of the command."""
    return {name: _whole(name, shape, shapes) for name, (shape, shapes) in _answers().items()}


def spec_schema() -> Schema:
    """The schema of TARGET.spec.json, which stands beside a table of JSONL or CSV; in Parquet it is metadata."""
    from neardup.params import Spec
    from neardup.tasks.repeats.settings import Cutting

    shapes = Shapes({})
    search = shapes.ref("Spec", spec_shape(shapes))
    given: dict[str, Schema] = {"command": {"const": "passages"}, "version": TEXT}
    lengths = {f"min_{kind}s": WHOLE for kind in ("byte", "word", "char")}
    more = {"unit": TEXT, "span": WHOLE, "normalize": TEXT, "threshold": NUMBER, "shingle": TEXT}
    chains = {"gaps": WHOLE, "min_match": WHOLE, "min_similarity": NUMBER, "ngram": WHOLE}
    chosen = {"group_by": TEXT, "min_count": WHOLE, "min_docs": WHOLE, "min_share": NUMBER}
    optional = {**lengths, **more, **chains, **chosen, **shapes.fields(Cutting)}
    passages = record({**given, **optional}, optional=list(optional), about="Of a table of passages.")
    about = {"title": "TARGET.spec.json", "description": f"What a table was made by. {Spec.__doc__}"}
    return {"$schema": DRAFT, **about, **either(search, passages), "$defs": shapes.defs}


def _whole(name: str, shape: Schema, shapes: Shapes) -> Schema:
    used = _reached(shape, shapes.defs)
    about = {"title": f"neardup {name} --json", "description": f"What the command prints. {STABLE}"}
    return {"$schema": DRAFT, **about, **shape, "$defs": {each: shapes.defs[each] for each in sorted(used)}}


def _reached(shape: Any, defs: dict[str, Schema]) -> set[str]:
    """Names of the definitions that a schema uses."""
    todo, found = [shape], set()
    while todo:
        each = todo.pop()
        if isinstance(each, dict):
            name = str(each.get("$ref", "")).rpartition("/")[2]
            if name and name not in found:
                found.add(name)
                todo.append(defs[name])
            todo += each.values()
        elif isinstance(each, list):
            todo += each
    return found


def _answers() -> dict[str, tuple[Schema, Shapes]]:
    from neardup.engine.fit import Hint
    from neardup.params import Preset, Spec
    from neardup.result import CleanSummary, SourceShare, Summary
    from neardup.tasks.audit.outcome import Audit

    shapes = Shapes({})
    shapes.set(Spec, spec_shape(shapes))
    shapes.set(Preset, record({"name": TEXT, "options": OPTIONS, "given": OPTIONS}, about="A preset that was used."))
    command = {**TEXT, "description": "The command to try instead."}
    hint = {**shapes.fields(Hint), "options": OPTIONS, "command": command}
    shapes.set(Hint, record(hint, optional=["command"], about="What does not fit the setting, and what to try."))
    share = {**shapes.fields(SourceShare), "share": {**NUMBER, "description": "Removed of all."}}
    shapes.set(SourceShare, record(share, about="What a source had and lost."))
    spec = {"spec": shapes.of(Spec)}
    preset = {"preset": maybe(shapes.of(Preset))}
    listed = {"listed": {**WHOLE, "description": "Pairs that are listed, where --top asks for a number of them."}}
    audit = shapes.ref("Audit", record({**shapes.fields(Audit, but=["missed"]), **spec}))
    plan = _plan(shapes, preset)
    over = {"over_limit": {**WHOLE, "description": "Bytes of the peak above the memory limit; 0 if it was kept."}}
    found = {**shapes.fields(Summary), **spec, **over}
    cleaned = {**shapes.fields(CleanSummary), **spec, **over, "largest_keeper": maybe(ID)}
    cleaned["passages"] = maybe(_step_passages(shapes))
    example = {"id": ID, "keeper": ID, "similarity": NUMBER, "rule": TEXT, "text": TEXT, "keeper_text": TEXT}
    about = "A removed document beside the one that stands for it, with --show."
    examples = {"examples": many(record(example, about=about))}
    answers = {
        "find": either(
            shapes.ref("Found", record({**found, **listed, "audit": audit}, optional=["listed", "audit"])),
            {**plan, "description": "With --dry-run."},
        ),
        "dedup": record({**cleaned, "plan": plan, **examples}, optional=["plan", "examples"]),
        "audit": record({**shapes.fields(Audit, but=["missed"]), **spec, **preset}),
        "plan": plan,
        "passages": _passages(shapes, preset),
        "compare": _comparison(shapes),
        "explain": _explanation(shapes),
        "tune": _tuned(shapes, plan),
        "index pairs": record({**found, **listed}, optional=["listed"]),
        **_of_an_index(shapes, preset),
    }
    return {name: (shape, shapes) for name, shape in sorted(answers.items())}


def _plan(shapes: Shapes, preset: dict[str, Schema]) -> Schema:
    from neardup.tasks.plan.costs import Estimate
    from neardup.tasks.plan.outcome import Option, Plan, RuleOption

    estimate = shapes.ref("Estimate", record({**shapes.fields(Estimate), "total_seconds": NUMBER}))
    option = {
        **shapes.fields(Option, "slots", "bands", "min_matches", "recall"),
        "knee": {**NUMBER, "description": "The similarity near which the S-curve is steepest."},
        "estimate": maybe(estimate),
    }
    shapes.set(Option, record(option))
    rule = {**shapes.fields(RuleOption, "rule", "false_positive_area", "false_negative_area"), **option}
    shapes.set(RuleOption, record(rule))
    known = ("threshold", "target", "collection", "chosen", "options", "rules", "threads", "memory_limit", "seconds")
    plan = {
        **shapes.fields(Plan, *known, "spec", "hints"),
        **preset,
        "exact": {**maybe(estimate), "description": "The exact join, which misses nothing."},
        "recommended": {"enum": ["exact", "lsh"]},
        "arguments": {**OPTIONS, "description": "Options of find and dedup that make the chosen run."},
    }
    return shapes.ref("Plan", record(plan))


def _passage_facts(shapes: Shapes) -> dict[str, Schema]:
    from neardup.tasks.repeats.settings import Cutting

    out = {**many(ID), "description": "Some of the documents that have too little left."}
    whole = {**many(ID), "description": "Some of the documents that are not cut, as nothing would be left of them."}
    facts = {"documents": WHOLE, "bytes": WHOLE, "left_out": WHOLE, "left_out_ids": out}
    facts |= {"left_whole": WHOLE, "left_whole_ids": whole}
    return {"cut": maybe(record({**shapes.fields(Cutting), **facts}, about="What is cut."))}


def _passages(shapes: Shapes, preset: dict[str, Schema]) -> Schema:
    from neardup.inputs.columns import ReadColumns
    from neardup.inputs.passed import PassedOver
    from neardup.tasks.repeats.summary import PassageSummary

    counts = dict.fromkeys(("start_byte", "bytes", "count", "documents"), WHOLE)
    place = {"id": ID, **counts, "bytes_in_all": maybe(WHOLE), "group": maybe(TEXT)}
    opening = {"opening": {**TEXT, "description": "The first characters of the passage."}}
    group = {"group": maybe(TEXT), "documents": WHOLE, "bytes": WHOLE, "spans": WHOLE, "repeated_bytes": WHOLE}
    again = ("spans", "passages", "repeated_bytes", "later_bytes", "bytes")
    return record(
        {
            **shapes.fields(PassageSummary),
            **preset,
            "blank": WHOLE,
            "passed_over": many(shapes.of(PassedOver)),
            "columns": many(shapes.of(ReadColumns)),
            "top_passages": many(record({**place, **opening}, optional=["group"])),
            "most_repeated": many(record({"id": ID, "bytes": WHOLE, "cut_bytes": WHOLE})),
            "top_groups": maybe(many(record(group))),
            **_passage_facts(shapes),
            "second_pass": maybe(record(dict.fromkeys(again, WHOLE))),
            "report": maybe(record({"path": TEXT, "files": WHOLE, "bytes": WHOLE})),
        }
    )


def _step_passages(shapes: Shapes) -> Schema:
    from neardup.tasks.repeats.summary import PassageSummary

    return record({**shapes.fields(PassageSummary), **_passage_facts(shapes)})


def _comparison(shapes: Shapes) -> Schema:
    from neardup.tasks.compare.comparison import Comparison

    spans = many({"type": "array", "items": WHOLE, "minItems": 2, "maxItems": 2})
    same = ("jaccard", "containment_a_in_b", "containment_b_in_a", "estimate", "estimate_error", "probability", "found")
    more = ("agreeing_bands", "bands", "covered_a", "covered_b", "spec")
    sizes = {"a": WHOLE, "b": WHOLE}
    passages = {"a": spans, "b": spans, "links": many(WHOLE), "back": many(WHOLE)}
    return record(
        {
            "a": {**TEXT, "description": "Name of the first text."},
            "b": {**TEXT, "description": "Name of the second text."},
            **shapes.fields(Comparison, *same, *more),
            "shingles": record({**sizes, "common": WHOLE}),
            "characters": record(sizes),
            "slots": WHOLE,
            "threshold": NUMBER,
            "longest": record({"characters": WHOLE, "start_a": WHOLE, "start_b": WHOLE}),
            "passages": record(passages, about="Shared passages as spans of characters, and what each is linked to."),
            "spec_id": TEXT,
        }
    )


def _explanation(shapes: Shapes) -> Schema:
    from neardup.tasks.explain.explanation import Explanation
    from neardup.tasks.explain.tables import Pair

    shapes.set(Pair, record({**shapes.fields(Pair), "candidate": FLAG}))
    curve = record({"similarity": NUMBER, "probability": NUMBER})
    return record({**shapes.fields(Explanation), "curve": many(curve)})


def _tuned(shapes: Shapes, plan: Schema) -> Schema:
    from neardup.tasks.plan.outcome import Option
    from neardup.tasks.tune.estimate import Expectation
    from neardup.tasks.tune.outcome import Tuned
    from neardup.tasks.tune.session import Tally

    figure = record({"value": NUMBER, "low": NUMBER, "high": NUMBER}, about="A value, and the interval of 95 %.")
    figures = dict.fromkeys(("precision", "recall", "f1"), figure)
    shapes.set(Expectation, record({"options": OPTIONS, **shapes.fields(Expectation, "found"), **figures}))
    return record(
        {
            **shapes.fields(Tuned, but=["answers", "above", "below"]),
            "options": OPTIONS,
            "answers": shapes.of(Tally),
            "cost": {**maybe(shapes.of(Option)), "description": "Of a run with these settings."},
            "written": many(TEXT),
        }
    )


def _of_an_index(shapes: Shapes, preset: dict[str, Schema]) -> dict[str, Schema]:
    from neardup.index.outcomes import Added, IndexInfo, IndexStatistics, RemovedByAge, Streamed, Verified
    from neardup.inputs.passed import PassedOver

    info, added = shapes.fields(IndexInfo), shapes.fields(Added)
    about = shapes.ref("IndexInfo", record(info))
    done = {
        "documents": {**WHOLE, "description": "In the index."},
        "seconds": NUMBER,
        "spec_id": TEXT,
    }
    left = {"bad": WHOLE, "blank": WHOLE, "passed_over": many(shapes.of(PassedOver)), "threshold": NUMBER}
    admitted = {"read": WHOLE, "added": WHOLE, "near": WHOLE, "skipped": WHOLE}
    measure = {"measure": {"const": "containment"}}
    return {
        "index create": record({**info, **preset}),
        "index build": record({**added, **info, **preset, **done}),
        "index add": either(
            record({**added, **done}), record({**admitted, **left, **done}, about="With --if-new and -o.")
        ),
        "index dedup-stream": record({**shapes.fields(Streamed, but=["faults"]), **done}),
        "index remove": either(
            record({"removed": WHOLE, "missing": WHOLE, **done}),
            record({**shapes.fields(RemovedByAge), "dry_run": FLAG, **done}, about="With --older-than."),
        ),
        "index merge": record({**added, **done}),
        "index query": record(
            {"queries": WHOLE, "answered": WHOLE, "hits": WHOLE, **left, **done, **measure}, optional=["measure"]
        ),
        "index info": about,
        "index statistics": record(shapes.fields(IndexStatistics)),
        "index verify": record(shapes.fields(Verified)),
        "index compact": record({**info, "before": about, "seconds": NUMBER}),
        "index backup": record({**info, "seconds": NUMBER}),
    }
