"""What may form pairs, and what does not count, against shingle sets of plain Python.

The oracle has sets of word triples as tuples, takes those of the template out, and goes through all pairs of documents.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup import tuning
from neardup.engine.reading.template import Template, passages_of
from neardup.engine.results.passages import Marker
from neardup.params import InputOptions, Normalize, RunOptions, Shingle
from neardup.session import Run
from neardup.stages.shingle import shingles
from neardup.stages.text import normalize_text
from neardup.tasks.grouping import GroupBy
from neardup.tasks.report.report_input import Asked, report_input
from neardup.tasks.report.roles import open_roles
from neardup.types import Documents

ONE = RunOptions(threads=1)
THRESHOLD = 0.2
Found = dict[tuple[str, str], float]

words = st.lists(st.sampled_from("abcdef"), max_size=10).map(" ".join)
people = st.sampled_from(["ann", "bea", "cid"])


def triples(text: str) -> set[tuple[str, ...]]:
    """Runs of three words; a shorter text is one run."""
    found = re.findall("[a-z]+", text)
    runs = {tuple(found[i : i + 3]) for i in range(len(found) - 2)}
    return runs or ({tuple(found)} if found else set())


def all_pairs(texts: Mapping[str, str], template: Sequence[str], measure: str) -> Found:
    """Every pair that reaches the threshold without the shingles of the template."""
    known: set[tuple[str, ...]] = set().union(*map(triples, template))
    sets = {name: triples(text) - known for name, text in texts.items()}
    found = {}
    for a, b in combinations(sets, 2):
        if not sets[a] or not sets[b]:
            continue
        common = len(sets[a] & sets[b])
        whole = len(sets[a] | sets[b]) if measure == "jaccard" else min(len(sets[a]), len(sets[b]))
        if common / whole >= THRESHOLD:
            found[a, b] = common / whole
    return found


def searched(
    texts: Mapping[str, str],
    *,
    template: Sequence[str] = (),
    originals: Mapping[str, str] | None = None,
    against: Mapping[str, str] | None = None,
    group_by: str | None = None,
    link: str = "connected",
    **options: object,
) -> tuple[Found, list[set[str]]]:
    """The pairs of a report, and its clusters."""
    spec = tuning.make_spec(shingle="word:3", threshold=THRESHOLD, crowd=0, **options)
    reader, roles = open_roles(dict(texts), InputOptions(), item=False, originals=originals, against=against)
    ignored = Template(template, spec.shingle, spec.normalize) if template else None
    with Run(reader, spec, ONE, template=ignored) as run:
        basis, _ = report_input(run, Asked(link=link, group_by=GroupBy.parse(group_by), roles=roles))
        pairs = basis.found.pairs.gathered()
        ids = [str(id) for id in run.provenance.ids.take(range(len(run.provenance.ids))).to_pylist()]
        members = basis.found.members
        clusters: dict[int, set[str]] = {}
        for row, label in zip(members.rows.tolist(), members.label.tolist(), strict=True):
            clusters.setdefault(label, set()).add(ids[row])
    columns = (pairs.left.tolist(), pairs.right.tolist(), pairs.similarity.tolist())
    return {(ids[a], ids[b]): s for a, b, s in zip(*columns, strict=True)}, list(clusters.values())


def components(names: Sequence[str], pairs: Found) -> list[set[str]]:
    """Groups of two and more that chains of pairs join."""
    groups = [{name} for name in names]
    for a, b in pairs:
        one, other = (next(group for group in groups if name in group) for name in (a, b))
        if one is not other:
            groups.remove(other)
            one |= other
    return [group for group in groups if len(group) > 1]


MODES = {
    "banding": {"recall": 0.999999},
    "exact": {"exact": True},
    "containment": {"measure": "containment"},
    "as text": {"recall": 0.999999, "verify": "text"},
}


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=25)
@given(texts=st.lists(words, min_size=2, max_size=8), template=st.lists(words, max_size=2))
def test_a_template_counts_in_no_document(mode: str, texts: list[str], template: list[str]) -> None:
    named = {f"d{i}": text for i, text in enumerate(texts)}
    found, _ = searched(named, template=template, **MODES[mode])
    assert found == all_pairs(named, template, MODES[mode].get("measure", "jaccard"))


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=25)
@given(
    texts=st.lists(st.tuples(people, words), min_size=2, max_size=8),
    originals=st.lists(words, max_size=3),
    earlier=st.lists(st.tuples(people, words), max_size=3),
)
def test_only_documents_of_two_people_one_of_them_a_submission_form_pairs(
    mode: str, texts: list[tuple[str, str]], originals: list[str], earlier: list[tuple[str, str]]
) -> None:
    mine = {f"{person}-{i}": text for i, (person, text) in enumerate(texts)}
    old = {f"{person}-old{i}": text for i, (person, text) in enumerate(earlier)}
    sources = {f"source{i}": text for i, text in enumerate(originals)}
    everyone = {**mine, **sources, **old}
    expected = {
        (a, b): similarity
        for (a, b), similarity in all_pairs(everyone, [], MODES[mode].get("measure", "jaccard")).items()
        if (a in mine or b in mine) and a.partition("-")[0] != b.partition("-")[0]
    }
    found, clusters = searched(mine, originals=sources, against=old, group_by="^(.+)-", **MODES[mode])
    assert found == expected
    assert sorted(map(sorted, clusters)) == sorted(map(sorted, components(list(everyone), expected)))


@settings(max_examples=200)
@given(
    text=st.text("ab c,.\nÀ", max_size=30),
    template=st.lists(st.text("ab c,.", max_size=12), max_size=2),
    shingle=st.sampled_from(["word:1", "word:2", "char:1", "char:3", "byte:2"]),
    normalize=st.sampled_from(["none", "nfc", "nfkc,casefold,punct,space"]),
)
def test_what_is_left_of_a_text_and_what_is_marked_are_the_same(
    text: str, template: list[str], shingle: str, normalize: str
) -> None:
    """The sets that are searched, against the readable shingles; and the marks' count of them against both."""
    how = Shingle.parse(shingle), Normalize.parse(normalize)
    made = Template(template, *how)
    blob = made.without(Documents.from_bytes([text.encode()])).blob(0)
    left = {item.decode() for item in blob.split(b"\xff") if item}
    plain = set(shingles(normalize_text(text, how[1]), how[0]))
    known = {each for passage in template for each in shingles(normalize_text(passage, how[1]), how[0])}
    assert left == plain - known
    marker = Marker(shingle=how[0], normalize=how[1], template=template)
    counted, grey = marker.split(text)
    assert len(set(counted.hashes.tolist())) == len(left)
    assert all(0 <= start < end <= len(text) for start, end in grey)
    assert all(end < start for (_, end), (start, _) in pairwise(grey))
    assert bool(grey) == bool(plain & known)


def test_passages_of_a_template_are_apart_by_lines_of_three_hyphens() -> None:
    assert passages_of("a b\nc\n---\n\n --- \nd---e\n") == ["a b\nc", "d---e"]
    spec = Shingle.parse("word:3"), Normalize.parse("none")
    assert Template(["a b", "c d"], *spec).shingles == {"a b", "c d"}
    assert Template(["a b c d"], *spec).shingles == {"a b c", "b c d"}
