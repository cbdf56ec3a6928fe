"""Rules of n-gram overlap: when a document of the training data has too much in common with a protected one.

The named rules are those that makers of language models have published, as far as they decide on whole documents. What
differs from the original is written down beside each; docs/howto/dedup.md tells users the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from neardup.errors import InputError, did_you_mean
from neardup.params.spec import Normalize, Shingle

__all__ = ["OVERLAPS", "Overlap"]

_PLAIN_WORDS = Normalize("nfc", casefold=True, punct=True)
_PLAIN_TEXT = replace(_PLAIN_WORDS, space=True)


@dataclass(frozen=True, slots=True)
class Overlap:
    """When a document goes because of what it has in common with a protected one."""

    name: str
    shingle: Shingle
    """The n-grams that are compared."""
    normalize: Normalize
    """What is done to both texts first."""
    share: float | None = None
    """Of the words (characters, bytes) of the protected document, so many must stand in shared n-grams, at least;
    None: one n-gram is enough."""
    most_documents: int | None = None
    """N-grams that more documents than this have, protected ones not counted, are ignored; None: none is."""
    by_paragraph: bool = False
    """Whole paragraphs are compared instead, if they have as many words as an n-gram, at least."""

    @classmethod
    def parse(cls, text: str | int | Overlap) -> Overlap:
        """Read a rule as it is typed: a name of ``OVERLAPS``, N or UNIT:N, each with ``:SHARE`` behind it or without.

        Raises:
            InputError: there is no such rule, or its share is not above 0 and at most 1.

        >>> str(Overlap.parse("13")), str(Overlap.parse("llama3:0.7")), Overlap.parse("char:50").normalize.space
        ('word:13', 'llama3:0.7', True)
        """
        if isinstance(text, Overlap):
            return text
        found = re.fullmatch(r"(?:((?:word|char|byte):)?([0-9]+)|([a-z][a-z0-9]*))(?::([0-9.]+))?", str(text))
        if found is None or (found[3] is not None and found[3] not in OVERLAPS):
            raise InputError(
                f"overlap is {text!r}. Give {', '.join(OVERLAPS)}, or N, word:N, char:N or byte:N for n-grams of"
                f" another length; a share may follow, as in 13:0.5.{did_you_mean(str(text), OVERLAPS)}"
            )
        if found[3] is not None:
            rule = OVERLAPS[found[3]]
        else:
            shingle = Shingle.parse(f"{found[1] or 'word:'}{found[2]}")
            rule = cls(str(shingle), shingle, _PLAIN_WORDS if shingle.kind == "word" else _PLAIN_TEXT)
        return rule if found[4] is None else replace(rule, share=_share(found[4], str(text)))

    def __str__(self) -> str:
        """The rule as it may be typed; it names all that decides."""
        usual = OVERLAPS[self.name].share if self.name in OVERLAPS else None
        return self.name if self.share == usual else f"{self.name}:{self.share!r}"


def _share(typed: str, text: str) -> float:
    try:
        share = float(typed)
    except ValueError:
        share = 0.0
    if not 0.0 < share <= 1.0:
        raise InputError(f"overlap is {text!r}: its share must be above 0 and at most 1, such as 0.5.")
    return share


OVERLAPS = {
    # T. Brown and others, "Language Models are Few-Shot Learners", 2020 (arXiv:2005.14165), appendix C: 13-grams of
    # words in lower case without punctuation; those in more than 10 training documents are ignored. There 200
    # characters round each match are cut out, and a document goes as a whole when that leaves more than 10 pieces; at
    # first, they write, it went at a single match, as here.
    "gpt3": Overlap("gpt3", Shingle("word", 13), _PLAIN_WORDS, most_documents=10),
    # "The Llama 3 Herd of Models", 2024 (arXiv:2407.21783), section 5.1.4: a test example is contaminated when a share
    # of its tokens stands in 8-grams of the training data. There n-grams are of their tokenizer, the whole of the
    # training data counts, the share is chosen for each test set, and examples are set aside, not training documents.
    "llama3": Overlap("llama3", Shingle("word", 8), Normalize("nfc"), share=0.5),
    # L. Soldaini and others, "Dolma", 2024 (arXiv:2402.00159), with I. Magnusson and others, "Paloma", 2023
    # (arXiv:2312.10523): a document with one paragraph of a test document goes; paragraphs below 13 tokens do not
    # count. There a Bloom filter decides, which now and then takes a document for nothing, and tokens are those of
    # Unicode's text segmentation, punctuation among them.
    "dolma": Overlap("dolma", Shingle("word", 13), Normalize("nfc"), by_paragraph=True),
}
"""The named rules."""
