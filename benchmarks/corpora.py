"""Build the benchmark collections as JSONL, one {"id", "text"} object a line, from public material.

    python benchmarks/corpora.py kernel OUTPUT LINUX_SOURCE.deb | SOURCE_FOLDER
    python benchmarks/corpora.py paragraphs OUTPUT DEB_OR_FOLDER...
    python benchmarks/corpora.py abstracts OUTPUT ABSTRACTS.jsonl.gz... [--megabytes 500] [--seed 1]
    python benchmarks/corpora.py part INPUT OUTPUT --megabytes 100 [--by folder|id]

Only the standard library and, for reading packages, the command `dpkg-deb` are needed. Every command is
deterministic: the same input gives the same bytes. Texts are written as they are; what is not valid UTF-8 is
decoded as latin-1. `abstracts` alone writes synthetic edits of real texts, and says so in its identifiers
(`id#7` is the seventh edited version of `id`).
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import html
import json
import random
import re
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

MEGABYTE = 1_000_000
TEXT_SUFFIXES = (".html", ".htm", ".txt", ".txt.gz", ".md", ".rst", "copyright", "copyright.gz")
BLOCK_TAG = re.compile(
    r"</?(?:p|div|h[1-6]|li|ul|ol|dl|dt|dd|tr|td|th|table|pre|blockquote|br|hr|body|head|title)\b[^>]*>",
    re.IGNORECASE,
)
INVISIBLE = re.compile(r"<(script|style)\b.*?</\1>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
ANY_TAG = re.compile(r"<[^>]+>")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z$])")


def decode(raw: bytes) -> str:
    """Return the bytes as UTF-8 text, or as latin-1 where they are not valid UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def record(identifier: str, text: str) -> str:
    """Return one line of JSONL."""
    return json.dumps({"id": identifier, "text": text}, ensure_ascii=False) + "\n"


def write_jsonl(output: Path, documents: Iterable[tuple[str, str]]) -> None:
    """Write the documents and print how many there are and how large the file is."""
    count = 0
    with output.open("w", encoding="utf-8", newline="\n") as sink:
        for identifier, text in documents:
            sink.write(record(identifier, text))
            count += 1
    print(f"{output}: {count:,} documents, {output.stat().st_size / MEGABYTE:.1f} MB")


def package_members(package: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of every regular file of a Debian package."""
    unpack = subprocess.Popen(
        ["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert unpack.stdout is not None
    try:
        with tarfile.open(fileobj=unpack.stdout, mode="r|") as archive:
            yield from archive_members(archive)
        for _ in iter(lambda: unpack.stdout.read(1 << 16), b""):
            pass  # the padding after the last member, without which dpkg-deb would fail
        if unpack.wait() != 0:
            raise SystemExit(f"dpkg-deb failed on {package}")
    finally:  # also when the reader has enough and stops early
        unpack.kill()
        unpack.wait()


def archive_members(archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of every regular file of an open tar archive, in its order."""
    for member in archive:
        if member.isfile():
            content = archive.extractfile(member)
            assert content is not None
            yield member.name.removeprefix("./"), content.read()


def folder_members(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (path relative to the folder, content) of every regular file, sorted by path."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def members(source: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of a Debian package or of a folder."""
    return folder_members(source) if source.is_dir() else package_members(source)


def source_tree(source: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the kernel tree: a folder, or a linux-source package with its inner tar.xz."""
    if source.is_dir():
        yield from folder_members(source)
        return
    inner = f"dpkg-deb --fsys-tarfile '{source}' | tar xO --wildcards '*/linux-source-*.tar.xz' | xz -dc"
    unpack = subprocess.Popen(["sh", "-c", inner], stdout=subprocess.PIPE)
    assert unpack.stdout is not None
    with tarfile.open(fileobj=unpack.stdout, mode="r|") as archive:
        for path, content in archive_members(archive):
            yield path.partition("/")[2], content
    if unpack.wait() != 0:
        raise SystemExit(f"unpacking {source} failed")


def kernel_documents(source: Path, largest: int) -> Iterator[tuple[str, str]]:
    """One document per text file of 1 to ``largest`` bytes; a file with a NUL byte is no text."""
    for path, content in source_tree(source):
        if 0 < len(content) <= largest and b"\0" not in content:
            yield path, decode(content)


def html_blocks(page: str) -> Iterator[str]:
    """Yield the block-level texts of a page, white space collapsed."""
    for block in BLOCK_TAG.split(INVISIBLE.sub(" ", page)):
        text = " ".join(html.unescape(ANY_TAG.sub("", block)).split())
        if text:
            yield text


def plain_blocks(text: str) -> Iterator[str]:
    """Yield the paragraphs of a plain text: runs of lines between empty ones."""
    for block in re.split(r"\n[ \t.]*\n", text):
        stripped = " ".join(block.split())
        if stripped:
            yield stripped


def pack(blocks: Iterable[str], wanted: int) -> Iterator[str]:
    """Join neighbouring blocks until they have ``wanted`` characters; the short rest of a file is one too."""
    held: list[str] = []
    length = 0
    for block in blocks:
        held.append(block)
        length += len(block)
        if length >= wanted:
            yield "\n".join(held)
            held, length = [], 0
    if held:
        yield "\n".join(held)


def paragraph_documents(sources: list[Path], wanted: int, largest: int) -> Iterator[tuple[str, str]]:
    """Short documents out of the pages and plain texts of packages or folders, ``largest`` bytes in all."""
    written = 0
    for source in sources:
        for path, content in members(source):
            if not path.endswith(TEXT_SUFFIXES):
                continue
            raw = gzip.decompress(content) if path.endswith(".gz") else content
            if b"\0" in raw:
                continue
            blocks = html_blocks if path.removesuffix(".gz").endswith(("html", "htm")) else plain_blocks
            for number, text in enumerate(pack(blocks(decode(raw)), wanted), 1):
                name = f"{source.stem.partition('_')[0]}:{path}#{number}"
                yield name, text
                written += len(record(name, text).encode())
            if written >= largest:
                return


def read_abstracts(files: list[Path]) -> list[tuple[str, str]]:
    """Read (id, text) of JSONL files, gzip or plain."""
    documents = []
    for file in files:
        opener: Callable[..., IO[str]] = gzip.open if file.suffix == ".gz" else open  # type: ignore[assignment]
        with opener(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                fields = json.loads(line)
                documents.append((str(fields["id"]), fields["text"]))
    return documents


def edited(sentences: list[str], pool: list[str], words: list[str], rng: random.Random) -> str:
    """Return one edited version of an abstract.

    One version in twelve is lightly edited (at most one sentence dropped or swapped, up to 2 % of the words
    changed): those are near-duplicates of the original and of each other. The others keep about half of the
    sentences, in another order, beside sentences of other abstracts, and change 5 to 30 % of the words.
    """
    kept = list(sentences)
    if rng.random() < 1 / 12:
        rate = rng.random() * 0.02
        act, at = rng.random(), rng.randrange(len(kept))
        if act < 0.3 and len(kept) > 3:
            del kept[at]
        elif act < 0.5 and at + 1 < len(kept):
            kept[at], kept[at + 1] = kept[at + 1], kept[at]
    else:
        rate = 0.05 + rng.random() * 0.25
        kept = [one if rng.random() < 0.5 else pool[rng.randrange(len(pool))] for one in kept]
        rng.shuffle(kept)
    tokens = " ".join(kept).split(" ")
    for _ in range(round(rate * len(tokens))):
        tokens[rng.randrange(len(tokens))] = words[rng.randrange(len(words))]
    return " ".join(tokens)


def abstract_documents(files: list[Path], largest: int, seed: int) -> Iterator[tuple[str, str]]:
    """The real abstracts, then round after round of edited versions until ``largest`` bytes are written."""
    originals = read_abstracts(files)
    split = [SENTENCE_END.split(text.replace("\n", ". ", 1)) for _, text in originals]
    pool = [sentence for sentences in split for sentence in sentences]
    words = sorted({word for sentence in pool for word in sentence.split(" ")})
    rng = random.Random(seed)
    written = 0
    version = 0
    while written < largest:
        for (identifier, text), sentences in zip(originals, split, strict=True):
            shown = text if version == 0 else edited(sentences, pool, words, rng)
            name = identifier if version == 0 else f"{identifier}#{version}"
            yield name, shown
            written += len(record(name, shown).encode())
            if written >= largest:
                return
        version += 1


def write_part(source: Path, output: Path, largest: int, by: str) -> None:
    """Copy the lines whose id (or folder of the id) has the smallest hashes, about ``largest`` bytes.

    By folder, whole folders are taken, so that files that lie side by side stay together.
    """
    groups: list[bytes] = []
    sizes: dict[bytes, int] = {}
    with source.open("rb") as lines:
        for line in lines:
            identifier = json.loads(line)["id"]
            group = identifier.rpartition("/")[0] if by == "folder" else identifier
            key = hashlib.blake2b(group.encode(), digest_size=8).digest()
            groups.append(key)
            sizes[key] = sizes.get(key, 0) + len(line)
    chosen: set[bytes] = set()
    total = 0
    for key in sorted(sizes):
        if total >= largest:
            break
        chosen.add(key)
        total += sizes[key]
    count = 0
    with source.open("rb") as lines, output.open("wb") as sink:
        for key, line in zip(groups, lines, strict=True):
            if key in chosen:
                sink.write(line)
                count += 1
    print(f"{output}: {count:,} documents, {output.stat().st_size / MEGABYTE:.1f} MB")


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    kernel = commands.add_parser("kernel", help="one document per text file of the Linux sources")
    kernel.add_argument("output", type=Path)
    kernel.add_argument("source", type=Path, help="a linux-source-*.deb, or a folder with the sources")
    kernel.add_argument("--max-file-bytes", type=int, default=100_000, help="leave out larger files")
    paragraphs = commands.add_parser("paragraphs", help="short paragraphs of packages' pages, licences, texts")
    paragraphs.add_argument("output", type=Path)
    paragraphs.add_argument("sources", type=Path, nargs="+", help=".deb files or folders")
    paragraphs.add_argument("--characters", type=int, default=700, help="a document has at least so many")
    paragraphs.add_argument("--megabytes", type=float, default=100)
    abstracts = commands.add_parser("abstracts", help="real abstracts and synthetic edits of them")
    abstracts.add_argument("output", type=Path)
    abstracts.add_argument("sources", type=Path, nargs="+", help="JSONL with id and text, plain or .gz")
    abstracts.add_argument("--megabytes", type=float, default=500)
    abstracts.add_argument("--seed", type=int, default=1)
    part = commands.add_parser("part", help="a part of a JSONL file, spread by hash")
    part.add_argument("source", type=Path)
    part.add_argument("output", type=Path)
    part.add_argument("--megabytes", type=float, default=100)
    part.add_argument("--by", choices=("folder", "id"), default="folder")
    return parser.parse_args()


def main() -> None:
    """Run the chosen command."""
    args = arguments()
    if args.command == "kernel":
        write_jsonl(args.output, kernel_documents(args.source, args.max_file_bytes))
    elif args.command == "paragraphs":
        largest = int(args.megabytes * MEGABYTE)
        write_jsonl(args.output, paragraph_documents(args.sources, args.characters, largest))
    elif args.command == "abstracts":
        write_jsonl(args.output, abstract_documents(args.sources, int(args.megabytes * MEGABYTE), args.seed))
    else:
        write_part(args.source, args.output, int(args.megabytes * MEGABYTE), args.by)


if __name__ == "__main__":
    main()
