"""Text that does not count: the shingles of a template, taken out of every document before anything else is done.

A document becomes the set of those of its shingles that the template does not have, each shingle an item as it is
written. So signatures, joins, the exact check and the copies all mean the documents without the template: what is found
is what a search among these sets finds, with its recall. It takes about k times the memory of the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from neardup.params import Normalize, Shingle, Spec
from neardup.stages.passages import token_spans
from neardup.stages.shingle import Hasher, tokens
from neardup.stages.text import SEPARATOR, normalize_documents, normalize_text
from neardup.types import Alone, Batch, Documents, NeedsRoom

BREAK = "---"
"""A line of this alone stands between two passages of a template: no shingle goes over it."""


def passages_as_written(text: str) -> list[str]:
    """The passages of a template file, apart by lines of BREAK alone, with the white space around; no blank ones.

    >>> passages_as_written("Explain MinHash.\\n---\\nGive an example.\\n")
    ['Explain MinHash.\\n', 'Give an example.\\n']
    """
    passages = [""]
    for line in text.splitlines(keepends=True):
        if line.strip() == BREAK:
            passages.append("")
        else:
            passages[-1] += line
    return [passage for passage in passages if passage.strip()]


def passages_of(text: str) -> list[str]:
    """The same without the white space around each.

    >>> passages_of("Explain MinHash.\\n---\\nGive an example.\\n")
    ['Explain MinHash.', 'Give an example.']
    """
    return [passage.strip() for passage in passages_as_written(text)]


@dataclass(frozen=True, slots=True)
class Template:
    """Passages whose shingles do not count under one spec."""

    passages: Sequence[str]
    """As they were written."""
    shingle: Shingle
    normalize: Normalize
    shingles: frozenset[str] = field(init=False)
    """Of all passages."""
    _words: Hasher = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_words", Hasher(self.shingle, 0))
        found = (self._shingles(normalize_text(passage, self.normalize)) for passage in self.passages)
        object.__setattr__(self, "shingles", frozenset().union(*found))

    def search_spec(self, spec: Spec) -> Spec:
        """The spec by which the sets are searched that ``without`` makes: all but the shingles is as it was."""
        return replace(spec, shingle=Shingle("item", 1), normalize=Normalize("none"))

    def without(self, documents: Documents) -> Documents:
        """Each document as the set of its shingles that are none of the template, in order of first appearance."""
        found = normalize_documents(documents, self.normalize)
        sets = (self._shingles(found.blob(i).decode("utf-8", "replace")) for i in range(len(found)))
        kept = ((each for each in some if each not in self.shingles) for some in sets)
        return Documents.from_bytes(SEPARATOR.join(each.encode() for each in some) for some in kept)

    def tasks(self, tasks: Iterator[Callable[[], Batch]]) -> Iterator[Callable[[], Batch]]:
        """Readers' work, whose batches then have the documents that ``without`` makes."""
        for task in tasks:
            done = partial(self._batch, task)
            yield Alone(done) if isinstance(task, Alone) else done

    def _batch(self, task: Callable[[], Batch]) -> Batch:
        try:
            batch = task()
        except NeedsRoom as exc:
            raise NeedsRoom(Alone(partial(self._batch, exc.task))) from exc
        made = replace(
            batch,
            documents=self.without(batch.documents),
            text_bytes=batch.documents.nbytes,
            places=None,  # what lies there are the texts and not these sets
            give_back=None,
        )
        if batch.give_back is not None:
            batch.give_back()
        return made

    def _shingles(self, text: str) -> dict[str, None]:
        """As ``stages.shingle.shingles``, whose words take longer."""
        if self.shingle.kind != "word":
            parts, glue = tokens(text, self.shingle), ""
        else:
            firsts, lasts = token_spans(text, self._words)
            spans = zip(firsts.tolist(), lasts.tolist(), strict=True)
            parts, glue = [text[first : last + 1] for first, last in spans], " "
        k = self.shingle.k
        if not parts:
            return {text: None} if text else {}
        runs = (glue.join(parts[i : i + k]) for i in range(max(1, len(parts) - k + 1)))
        return dict.fromkeys(runs)
