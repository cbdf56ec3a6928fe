"""Documents of a collection among which pairs are looked for, and how many pairs each of theirs stands for.

Documents that are drawn one by one thin out pairs quadratically: of a thousandth of them a millionth of the pairs are
left. So a document is drawn by one shingle of it, that of the least hash (A. Broder, "On the resemblance and
containment of documents", 1997). Two documents share it with a probability that is their similarity J; then they are
drawn together, else apart. With a share r of the shingles drawn, a pair is in the sample with probability
J r + (1 - J) r^2, and stands for one over that many. Equal texts are one, with a count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from neardup.engine.observe import Observer
from neardup.engine.reading.draw import hashes_of
from neardup.engine.threads import in_order
from neardup.inputs.names import Provenance
from neardup.inputs.source import Task
from neardup.params import DEFAULT_CROWD, Normalize, Shingle
from neardup.stages.shingle import Hasher
from neardup.stages.sketch import count_and_sketch, fingerprints
from neardup.stages.text import normalize_documents
from neardup.tasks.tune.answers import Key
from neardup.tasks.tune.grid import Setting
from neardup.tasks.tune.named import NamedDocuments
from neardup.types import F64, I64, U64, Batch, Documents, Mask

DRAWN_BY = Setting("char:5", "casefold,punct,space")
"""The setting whose shingles draw: in the middle of all, and in every grid."""
SLOTS = 16
"""Of the signature of which only the first is used."""
DOCUMENTS, BYTES = 2500, 3 << 20
"""Of the sample, at most; one document is always there."""
LONGEST = 1 << 20
"""Bytes of a text that is not drawn: it would be the sample by itself. They are counted and told."""
SPACE = 1 << 64


@dataclass(frozen=True, slots=True)
class DrawnTexts:
    """The distinct texts of a sample."""

    documents: Documents
    """As read."""
    rows: I64
    """int64[m]: row of the first document of the collection with each text, rising."""
    copies: I64
    """int64[m]: the documents of the collection with each that are paired with others: 1 if they are a crowd."""
    share: float
    """Of all shingles, those that draw: 1 where the sample is the whole collection."""
    total: int
    """Documents of the collection."""
    equal_pairs: int
    """The pairs of documents with one text, by 64 bits of its hash, that a search lists."""
    too_long: int
    """Documents of more than LONGEST bytes, which were not drawn."""
    others: Documents
    """Texts beside the sample, which labels name."""
    other_rows: I64
    """int64[others]: row of a document with each."""
    places: dict[str, int]
    """Where the text of each document that labels name is, by its id: among ``documents``, and those of ``others``
    behind them; -1 where it is in neither."""

    def blob(self, i: int) -> bytes:
        """A text; those of ``others`` are numbered behind those of the sample."""
        n = len(self.documents)
        return self.documents.blob(i) if i < n else self.others.blob(i - n)

    def text(self, i: int) -> str:
        """The same as text."""
        return self.blob(i).decode("utf-8", "replace")

    def key_of(self, pair: Key) -> int | None:
        """The texts of two documents, by their ids, the lesser in the upper half; None where they are not at hand."""
        a, b = sorted(self.places.get(id, -1) for id in pair)
        return a << 32 | b if a >= 0 else None

    def weigh(self, left: I64, right: I64, similarity: F64) -> F64:
        """Pairs of documents that pairs of texts stand for, given their similarity under DRAWN_BY."""
        chance = similarity * self.share + (1 - similarity) * self.share**2
        weight: F64 = self.copies[left] * self.copies[right] / chance
        return weight


@dataclass(slots=True)
class _Looked:
    """What a thread made of one batch."""

    batch: Batch
    keys: U64
    prints: U64
    places: I64
    named: list[tuple[int, str]]
    """Documents that labels name."""
    is_empty: Mask


@dataclass(slots=True)
class _Held:
    """The texts of the smallest keys so far, by their 128 bits."""

    documents: int
    size: int
    bound: int = SPACE - 1
    texts: dict[tuple[int, int], tuple[int, int, bytes, list[int]]] = field(default_factory=dict)
    """Key, row of the first, text, and a list of one: the documents that have it."""
    held: int = 0
    """Bytes of the texts."""

    def add(self, print_: tuple[int, int], key: int, row: int, text: bytes) -> None:
        if key > self.bound:
            return
        known = self.texts.get(print_)
        if known is not None:
            known[3][0] += 1
            return
        self.texts[print_] = (key, row, text, [1])
        self.held += len(text)
        if len(self.texts) > 2 * self.documents or self.held > 2 * self.size:
            self.thin()

    def thin(self) -> None:
        """Lower the bound until there is room; texts of one key go together."""
        if len(self.texts) <= self.documents and self.held <= self.size:
            return
        rising = sorted(self.texts.items(), key=lambda item: item[1][0])
        keys = [own[0] for _, own in rising]
        ends = np.cumsum([len(own[2]) for _, own in rising])
        fit = max(1, min(self.documents, int(np.searchsorted(ends, self.size, side="right"))))
        while fit > 1 and keys[fit - 1] == keys[fit]:
            fit -= 1
        self.bound = keys[fit - 1]
        self.texts = {name: own for name, own in rising if own[0] <= self.bound}
        self.held = sum(len(own[2]) for own in self.texts.values())


def draw_texts(
    tasks: Iterator[Task],
    names: Provenance,
    *,
    seed: int,
    threads: int,
    observer: Observer,
    named: NamedDocuments | None = None,
    documents: int = DOCUMENTS,
    size: int = BYTES,
) -> DrawnTexts:
    """Read everything and keep the texts of a sample; ``names`` learns the ids. The same for any order and threads.

    ``named``: documents whose texts are wanted whether they are drawn or not. O(bytes). Memory: what ids take, 24 bytes
    for each document, twice the sample, and what ``named`` holds.
    """
    hasher, normalize = Hasher(Shingle.parse(DRAWN_BY.shingle), seed), Normalize.parse(DRAWN_BY.normalize)
    held, named = _Held(documents, size), named or NamedDocuments.of(())
    row = too_long = 0
    all_prints = [np.empty(0, dtype=np.uint64)]

    def look(task: Task) -> _Looked:
        batch = task()
        values = np.empty((len(batch.documents), SLOTS), dtype=np.uint32)
        counts = np.empty(len(batch.documents), dtype=np.int64)
        count_and_sketch(normalize_documents(batch.documents, normalize), hasher, values=values, counts=counts)
        first = values[:, 0].astype(np.uint64)
        keys = hashes_of(np.column_stack((first, np.zeros_like(first))), seed)
        is_drawn = (counts != 0) & (keys <= np.uint64(held.bound)) & (np.diff(batch.documents.offsets) <= LONGEST)
        places = np.flatnonzero(is_drawn)
        return _Looked(batch, keys, fingerprints(batch.documents), places, named.find(batch), counts == 0)

    for looked in in_order(look, tasks, threads=threads, ahead=threads + 2):
        batch = looked.batch
        names.enter(batch)
        lengths = np.diff(batch.documents.offsets)
        too_long += int(np.count_nonzero(lengths > LONGEST))
        all_prints.append(looked.prints[~looked.is_empty, 0])
        for i in looked.places.tolist():
            a, b = looked.prints[i].tolist()
            held.add((a, b), int(looked.keys[i]), row + i, batch.documents.blob(i))
        for i, id in looked.named:
            a, b = looked.prints[i].tolist()
            is_kept = lengths[i] <= LONGEST and not looked.is_empty[i]
            named.add(id, (a, b), row + i, batch.documents.blob(i) if is_kept else None)
        row += len(batch.documents)
        observer.advance(batch.consumed)
        if batch.give_back is not None:
            batch.give_back()
    held.thin()
    prints, own = zip(*sorted(held.texts.items(), key=lambda item: item[1][1]), strict=True) if held.texts else ((), ())
    others = [print_ for print_ in named.texts if print_ not in held.texts]
    place_of = {print_: i for i, print_ in enumerate((*prints, *others))}
    _, copies = np.unique(np.concatenate(all_prints), return_counts=True)
    return DrawnTexts(
        Documents.from_bytes(each[2] for each in own),
        np.array([each[1] for each in own], dtype=np.int64),
        np.array([each[3][0] if each[3][0] <= DEFAULT_CROWD else 1 for each in own], dtype=np.int64),
        (held.bound + 1) / SPACE,
        row,
        # as a search lists them: those of a crowd are paired with its leader only
        int(np.where(copies <= DEFAULT_CROWD, copies * (copies - 1) // 2, copies - 1).sum()),
        too_long,
        Documents.from_bytes(named.texts[print_][1] for print_ in others),
        np.array([named.texts[print_][0] for print_ in others], dtype=np.int64),
        {id: place_of.get(print_, -1) for id, print_ in named.prints.items()},
    )
