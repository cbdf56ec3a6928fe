"""Repeated passages of any texts: every repeated window, no other, and what each policy leaves."""

from __future__ import annotations

import tempfile

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import repeats as plain
from tests.unit.repeating import BAD_KEY, check, rows_of, segments_of

from neardup.engine.repeats.units import Units
from neardup.engine.space import Budget, Space
from neardup.params import Normalize
from neardup.stages.offsets import trace
from neardup.stages.repeats.policies import POLICIES, find_cuts
from neardup.stages.repeats.surgery import snap_cuts, without
from neardup.types import Documents

EXAMPLES = settings(max_examples=80)
FEW = settings(max_examples=12)


@st.composite
def collections(draw: st.DrawFn) -> list[bytes]:
    """A few documents of few letters, with pieces copied from each other and pieces that repeat themselves."""
    letters = draw(st.sampled_from([b"a", b"ab", b"abc", b"abcdefghijklmnopqrstuvwxyz"]))
    random = draw(st.randoms(use_true_random=False))
    pool, documents = [b"seed"], []
    for _ in range(draw(st.integers(1, 7))):
        text = b""
        for how in draw(st.lists(st.sampled_from(["new", "copy", "copy", "tandem"]), max_size=6)):
            if how == "new":
                piece = bytes(random.choices(letters, k=random.randint(0, 60)))
            else:
                piece = random.choice(pool)
                begin = random.randint(0, len(piece))
                piece = piece[begin : begin + random.randint(0, 80)]
                if how == "tandem":
                    piece = piece[: random.randint(1, 9)] * random.randint(1, 40)
            pool.append(piece)
            text += piece
        documents.append(text[:500])
    return documents


@given(collections(), st.integers(16, 40))
@EXAMPLES
def test_every_repeated_window_is_in_one_segment_and_no_other_window_is(blobs: list[bytes], span: int):
    check(blobs, span, segments_of(blobs, span))


@given(collections(), st.integers(16, 40), st.integers(1, 3), st.sampled_from([None, BAD_KEY]))
@FEW
def test_disk_threads_and_hashes_change_nothing(blobs: list[bytes], span: int, threads: int, key):
    with tempfile.TemporaryDirectory() as folder:
        filed = segments_of(blobs, span, threads=threads, step=1, folder=folder, key=key)
    assert rows_of(filed) == rows_of(segments_of(blobs, span))


@given(collections(), st.integers(16, 40), st.sampled_from(sorted(POLICIES)))
@EXAMPLES
def test_a_policy_leaves_the_bytes_that_it_should(blobs: list[bytes], span: int, policy: str):
    cuts = find_cuts(segments_of(blobs, span), policy)
    by_document: list[list[tuple[int, int]]] = [[] for _ in blobs]
    for document, start, end in zip(cuts.document, cuts.start, cuts.end, strict=True):
        assert not by_document[document] or by_document[document][-1][1] <= start < end
        by_document[document].append((int(start), int(end)))
    kept = []
    for blob, spans in zip(blobs, by_document, strict=True):
        at, pieces = 0, []
        for start, end in spans:
            pieces.append(blob[at:start])
            at = end
        kept.append(b"".join([*pieces, blob[at:]]))
    assert kept == plain.left_by(blobs, span, policy)


@given(collections(), st.integers(16, 40))
@FEW
def test_with_the_policy_first_every_repeated_window_still_stands(blobs: list[bytes], span: int):
    cuts = find_cuts(segments_of(blobs, span), "first")
    gone = {
        (int(document), i)
        for document, start, end in zip(cuts.document, cuts.start, cuts.end, strict=True)
        for i in range(start, end)
    }
    for (document, i), window in plain.windows(blobs, span).items():
        if window.kind == plain.FIRST:
            assert not gone.intersection((document, j) for j in range(i, i + span))


@given(st.text(alphabet="aé日 \n🙂", max_size=60), st.data())
@EXAMPLES
def test_what_is_left_is_utf8_and_no_cut_grows(text: str, data: st.DataObject):
    blob = text.encode()
    places = sorted(data.draw(st.sets(st.integers(0, len(blob)), max_size=6)))
    cuts = list(zip(places[0::2], places[1::2], strict=False))
    for snap in ("char", "word", "line"):
        found = snap_cuts(blob, cuts, snap=snap, least=0)
        without(blob, found).decode("utf-8")
        assert all(any(start <= a and b <= end for start, end in cuts) for a, b in found)


HARD_LETTERS = (
    "aAbé\u00e9\u0301\u0323\u0331\u00df\ufb01\u0130\u212b\u1e9b"
    "\u0345\u03b1\u0390\u1fb3 \u00a0\u3000\n.,\u3002\u1112\u1161\u11ab\ud55c\u0f71\u0f72\u05d0\u05b7日🙂"
)
STEPS = ["none", "nfc", "nfkc", "none,casefold", "nfc,casefold,space", "nfkc,casefold,punct,space", "nfkc,punct,strip"]


@given(
    st.lists(st.one_of(st.text(alphabet=HARD_LETTERS, max_size=30), st.text(max_size=12)), max_size=5),
    st.sampled_from(STEPS),
)
@settings(max_examples=300)
def test_units_have_the_places_that_the_definition_of_normalisation_gives_them(texts: list[str], steps: str):
    normalize = Normalize.parse(steps)
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    units = Units("char", normalize, Space(Budget(1 << 30, 1 << 29), None, {})).of(Documents.from_texts(texts))
    codes = units.documents.data[: units.documents.nbytes].view("<u4").tolist()
    assert units.places is not None
    places = units.places.tolist()
    for text, begin, end in zip(
        texts, units.documents.offsets[:-1] // 4, units.documents.offsets[1:] // 4, strict=True
    ):
        traced = trace(text, normalize)
        assert "".join(map(chr, codes[begin:end])) == traced.text
        before = [len(text[:i].encode()) for i in range(len(text) + 1)]
        wanted = [[before[i], before[j]] for i, j in zip(traced.starts, traced.ends, strict=True)]
        assert places[begin:end] == wanted
