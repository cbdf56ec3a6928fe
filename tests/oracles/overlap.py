"""Which documents overlap with protected ones, by n-grams or paragraphs, said as plainly as Python can."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

from tests.oracles import text
from tests.oracles.dedup import Doc, Gone
from tests.oracles.text import ShingleValue


@dataclass(frozen=True)
class Rule:
    """A rule, spelled out."""

    shingle: str
    normalize: str
    share: float | None = None
    most_documents: int | None = None
    by_paragraph: bool = False


GPT3 = Rule("word:13", "nfc,casefold,punct", most_documents=10)
LLAMA3 = Rule("word:8", "nfc", share=0.5)
DOLMA = Rule("word:13", "nfc", by_paragraph=True)


def grams(body: str, rule: Rule) -> list[ShingleValue]:
    """The n-grams of a text in order; a text of fewer tokens is one, an empty text has none."""
    kind, _, size = rule.shingle.partition(":")
    plain = text.normalise(body, rule.normalize)
    return text.windows(text.tokens(plain, kind), int(size)) or ([(plain,)] if plain else [])


def common_share(own: str, other: str, rule: Rule, ignored: Collection[ShingleValue] = ()) -> float:
    """The share of the tokens of ``other`` that stand in n-grams which ``own`` has."""
    k = int(rule.shingle.partition(":")[2])
    theirs, mine = grams(other, rule), set(grams(own, rule))
    covered = {i + j for i, gram in enumerate(theirs) if gram in mine and gram not in ignored for j in range(len(gram))}
    return len(covered) / (len(theirs[0]) + len(theirs) - 1) if theirs and len(theirs[0]) <= k else 0.0


def paragraph_share(own: str, other: str, rule: Rule) -> float:
    """The share of the words of ``other`` that stand in paragraphs which ``own`` has too, if they are long enough."""
    k = int(rule.shingle.partition(":")[2])
    mine = {part.strip() for part in text.normalise(own, rule.normalize).split("\n")}
    parts = [part.strip() for part in text.normalise(other, rule.normalize).split("\n")]
    sizes = [len(text.words(part)) for part in parts]
    common = sum(size for part, size in zip(parts, sizes, strict=True) if part in mine and size >= k)
    return common / sum(sizes) if common else 0.0


def overlapping(docs: Sequence[Doc], protected: Collection[str], rule: Rule) -> dict[Hashable, Gone]:
    """Who goes, and for which protected document: the one with the largest share, then its copy, then the first."""
    guards = [doc for doc in docs if doc.source in protected]
    others = [doc for doc in docs if doc.source not in protected]
    times = Counter(gram for doc in others for gram in set(grams(doc.body, rule)))
    ignored = {gram for gram, n in times.items() if rule.most_documents is not None and n > rule.most_documents}
    gone: dict[Hashable, Gone] = {}
    for doc in others:
        best: tuple[float, bool, int] = (0.0, True, 0)
        for place, guard in enumerate(guards):
            if rule.by_paragraph:
                share = paragraph_share(doc.body, guard.body, rule)
            else:
                share = common_share(doc.body, guard.body, rule, ignored)
            plain = [text.normalise(each.body, rule.normalize) for each in (doc, guard)]
            if share > 0 and share >= (rule.share or 0.0):
                best = min(best, (-share, plain[0] != plain[1], place))
        if best[0] < 0:
            gone[doc.id] = Gone(guards[best[2]].id, -best[0])
    return gone
