"""Documents made to break kernels: long ASCII runs, every width of UTF-8, marks, repeats, damage, chunk borders."""

from __future__ import annotations

from hypothesis import strategies as st

CHUNK = 2048
CHARACTERS = st.sampled_from(
    ["a", "Z", "7", " ", "\n", "\0", "é", "ß", "\u0301", "क", "्", "日", "\u200d", "😀", "\U000e0100"]
)
WORDS = st.sampled_from(["a", "the", "x9", "naïve", "日本語", "क्ष", "e\u0301t", "😀", "_", "antidisestablishment"])
BORDERS = st.one_of(
    st.integers(0, 20),
    st.integers(CHUNK - 45, CHUNK + 45),
    st.integers(2 * CHUNK - 45, 2 * CHUNK + 45),
)
LENGTHS = st.integers(1, 40)


@st.composite
def runs(draw: st.DrawFn) -> str:
    """ASCII that hardly repeats, of a length near a border."""
    first, length = draw(st.integers(0, 9)), draw(BORDERS)
    step = draw(st.sampled_from([7, 11, 1001]))
    return "".join(f"{first + step * i} " for i in range(length // 2 + 1))[:length]


def repeats() -> st.SearchStrategy[str]:
    """One word or character again and again, up to a border."""
    return st.tuples(st.one_of(CHARACTERS, WORDS), BORDERS).map(lambda pair: pair[0] * (pair[1] // len(pair[0])))


def texts() -> st.SearchStrategy[str]:
    """Up to 200 code points of all widths, and now and then a run or repeats that cross a chunk."""
    short = st.text(CHARACTERS, max_size=200)
    words = st.lists(st.tuples(WORDS, st.sampled_from([" ", ", ", "\n"])), max_size=40).map(
        lambda pairs: "".join(word + gap for word, gap in pairs)
    )
    mixed = st.tuples(short, runs(), words, repeats(), short).map("".join)
    return st.one_of(short, words, mixed, st.tuples(short, runs(), short).map("".join))


def blobs() -> st.SearchStrategy[bytes]:
    """Valid UTF-8."""
    return texts().map(str.encode)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """UTF-8 with bytes cut out, put in and changed: stray continuations, cut sequences, leads that lead nowhere."""
    blob = bytearray(draw(blobs()))
    for _ in range(draw(st.integers(0, 5))):
        at = draw(st.integers(0, len(blob)))
        kept = draw(st.integers(0, 2))
        blob[at : at + kept] = draw(
            st.sampled_from([b"", b"\x80", b"\xbf" * 9, b"\xe2\x82", b"\xf7", b"\xff", b"\xc3"])
        )
    return bytes(blob)


def items() -> st.SearchStrategy[bytes]:
    """Sets of items, some empty, some of many bytes, some many times."""
    item = st.one_of(st.binary(max_size=20).map(lambda b: b.replace(b"\xff", b"")), WORDS.map(str.encode))
    few = st.lists(item, max_size=30).map(b"\xff".join)
    many = st.tuples(BORDERS, few).map(lambda p: b"\xff".join([*(b"%d" % i for i in range(p[0])), p[1], p[1]]))
    return st.one_of(few, few, many)


SHINGLES = st.one_of(
    st.tuples(st.sampled_from(["char", "byte", "word"]), LENGTHS).map(lambda p: f"{p[0]}:{p[1]}"),
    st.sampled_from(["char:9", "char:5", "word:3", "byte:8", "char:64", "word:2", "char:1000"]),
)
SLOTS = st.sampled_from([2, 3, 16, 64, 100, 128, 129, 256])
ROUNDS = st.integers(1, 3)
SEEDS = st.sampled_from([0, 1, 7, 2**63 - 1])
