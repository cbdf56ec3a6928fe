"""``neardup compare``: two documents held against each other.

The comparison itself is in ``neardup.tasks.compare``, what a terminal shows of it in ``compare_text``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import WRITTEN, forms, options
from neardup.cli.options import STDOUT as STDIN
from neardup.cli.voice import print_json, say, stdout_errors, table_json
from neardup.errors import IndexNotFound, InputError
from neardup.params import InputOptions, SearchOptions
from neardup.shown import counted, duration, similarity_text

if TYPE_CHECKING:
    from neardup.params import Spec
    from neardup.tasks.compare.comparison import Comparison
    from neardup.tasks.compare.documents import Document


@forms.command(
    "compare",
    "compare essay.txt source.txt --shingle word:3",
    "compare 2107.00001 2107.00002 --in papers.jsonl --html pair.html",
)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@options.several_inputs(
    "--in",
    "collection",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Collection in which A and B are ids: what neardup find reads, or the folder of an index. May be given several"
    " times.  [default: A and B are files]",
)
@options.preset
@options.shingle
@options.normalize
@options.threshold
@options.recall
@options.signatures
@options.text_column
@options.id_column
@options.glob
@options.encoding
@options.boilerplate
@options.input_format
@click.option("--json", is_flag=True, help="Print the comparison on stdout as one JSON object, without the texts.")
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Also write a page that shows both texts side by side, for any browser.  [default: none]",
)
@click.option("--full", is_flag=True, help="Show all of both texts.  [default: 4,000 characters of each, at most]")
@options.voices
def compare(
    *,
    ctx: click.Context,
    a: str,
    b: str,
    collection: tuple[Path, ...],
    html: Path | None,
    full: bool,
    search: SearchOptions,
    reading: InputOptions,
    voice: forms.Voice,
) -> None:
    """Compare two documents: how similar they are, and what they share.

    A and B are files, each one document, in any format that neardup find reads; - is stdin. With --in they are ids of a
    collection or of an index; an index has its own settings.

    Written to stdout: the exact similarity and containment, what a search makes of the pair by signatures and bands,
    and both texts with the shared passages marked: exactly those characters that a shingle of both texts covers. Linked
    passages have one number. In small gaps between them the words that changed are marked too. Characters that are not
    seen, or that steer a terminal, are shown by name.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    if voice.json and full:
        raise click.UsageError("--json prints no texts. Leave --full out.")
    if html is not None:
        from neardup.cli.targets import check_collisions
        from neardup.pages.site.write import check_file

        check_collisions(collection or (Path(a), Path(b)), [str(html)], glob=reading.glob)
        check_file(html)
    begin = time.perf_counter()
    spec, documents = _fetch(ctx, (a, b), collection, search, reading)
    found = _compare(documents, spec)
    names = documents[0].name, documents[1].name
    if html is not None:
        from neardup.pages.site.write import write_pair
        from neardup.tasks.compare.comparison import pair_page

        write_pair(html, *pair_page(found, names, [_about(document, html) for document in documents]))
        ctx.meta[WRITTEN] = [str(html)]
    with stdout_errors():
        if voice.json:
            print_json(table_json({"a": names[0], "b": names[1], **found.as_dict()}))
        else:
            from neardup.cli.compare_text import facts, print_texts

            say(*facts(found, names), err=False)
            print_texts(found, names, is_full=full)
    if not voice.quiet:
        _tell(found, html, search, seconds=time.perf_counter() - begin, verbose=voice.verbose)


def _fetch(
    ctx: click.Context, names: tuple[str, str], collection: Sequence[Path], search: SearchOptions, reading: InputOptions
) -> tuple[Spec, list[Document]]:
    indexes = [path for path in collection if _is_index(path)]
    if indexes:
        if len(collection) > 1:
            raise click.UsageError(f"{indexes[0]} is an index, which can be the only --in. Give it alone.")
        return _from_index(ctx, indexes[0], names, search)
    from neardup import tuning
    from neardup.tasks.compare.documents import pick_documents

    spec = tuning.make_spec(search)
    item = spec.shingle.kind == "item"
    if collection:
        return spec, pick_documents(collection, names, reading, item=item)
    if names == (STDIN, STDIN):
        raise click.UsageError("A and B are both -, and stdin is one document. Give a file for the other.")
    if reading.glob is not None:
        raise click.UsageError("--glob is for the folders of a collection. Leave it out, or give --in.")
    return spec, [_read(name, reading, item=item) for name in names]


def _read(name: str, reading: InputOptions, *, item: bool) -> Document:
    """A file; what looks like an id is told how to be one."""
    from neardup.tasks.compare.documents import read_document

    if name != STDIN and not Path(name).exists():
        raise InputError(
            f"there is no file {name!r}. Check the path; if it is an id, name its collection with --in INPUT."
        )
    return read_document(name, reading, item=item)


def _is_index(path: Path) -> bool:
    if str(path) == STDIN or not path.is_dir():
        return False
    from neardup.index.folders import check_there

    try:
        check_there(path)
    except IndexNotFound:
        return False
    return True


def _from_index(
    ctx: click.Context, path: Path, names: tuple[str, str], search: SearchOptions
) -> tuple[Spec, list[Document]]:
    from itertools import islice

    from neardup.index.store import Index
    from neardup.tasks.compare.documents import Document, no_document

    for name in forms.typed(ctx, InputOptions.names()):
        option = name.replace("_", "-")
        raise click.UsageError(f"{path} is an index, which is not read by --{option}. Leave it out.")
    with Index.open(path, read_only=True) as held:
        spec = held.spec
        used = search.used_preset
        typed = [name for name in forms.typed(ctx, SearchOptions.names()) if name != "preset"]
        for name in [*typed, *(used.options if used is not None else ())]:
            given, made = getattr(search, name), getattr(spec, name)
            if given != made:
                by = "" if used is None or name in typed else f" by --for {used.name}"
                raise click.UsageError(
                    f"--{name} is {given}{by}, and {path} was made with {made}. Leave it out: an index has its"
                    " own settings."
                )
        stored = held.get_many(list(names))
        for name, document in zip(names, stored, strict=True):
            if document is None:
                raise no_document(name, [str(id) for id in islice(held, 10_000)], documents=len(held))
    contents = [document.text for document in stored if document is not None]
    is_item = spec.shingle.kind == "item"
    return spec, [Document(name, text.split() if is_item else text) for name, text in zip(names, contents, strict=True)]


def _compare(documents: Sequence[Document], spec: Spec) -> Comparison:
    """Compare two texts; or as sets, when one of them is one already."""
    from neardup.tasks.compare.public import compare_sets, compare_texts

    first, second = (document.content for document in documents)
    if isinstance(first, str) and isinstance(second, str):
        return compare_texts(first, second, spec)
    sets = [each.split() if isinstance(each, str) else each for each in (first, second)]
    return compare_sets(sets[0], sets[1], spec)


def _about(document: Document, html: Path) -> dict[str, Any]:
    """Where the pages of a document begin, and the address of its file from a page on: what is known of them."""
    from neardup.pages.links import file_link

    link = file_link(document.file, str(html.parent)) if document.file is not None else None
    about = {"pages": list(document.pages) or None, "file": link}
    return {name: value for name, value in about.items() if value is not None}


def _tell(found: Comparison, html: Path | None, search: SearchOptions, *, seconds: float, verbose: bool) -> None:
    """The closing lines, on stderr."""
    from neardup.cli.summary import labelled, preset_rows, whole_spec

    rows = [("written", str(html))] if html is not None else []
    rows += preset_rows(search.used_preset)
    say(*labelled([*rows, *whole_spec(found.spec.as_dict(), verbose=verbose)]))
    parts = [
        f"similarity {similarity_text(found.jaccard, found.spec.threshold)}",
        f"{counted(len(found.passages.a), 'passage')} in A, {len(found.passages.b):,} in B",
        duration(seconds),
        f"spec {found.spec.id}",
    ]
    say(f"neardup: {', '.join(parts)}")
