"""People's documents: what counts as text in each kind, what is wrong with a file, and what that means for a run."""

from __future__ import annotations

import gc
import gzip
import re
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("lxml")
pytest.importorskip("pypdfium2")

from tests.documents import making

import neardup
from neardup.errors import InputError
from neardup.inputs.documents import Unreadable, read_document
from neardup.inputs.formats import DOCUMENTS
from neardup.inputs.reader import open_inputs
from neardup.inputs.walk import walk_folder

FIXTURES = Path(__file__).parents[1] / "documents" / "fixtures"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def text_of(name: str, data: bytes | str, **options: str) -> str:
    Path(name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return read_document(name, **options)


def fault_of(name: str, data: bytes | str, **options: str) -> str:
    with pytest.raises(Unreadable) as raised:
        text_of(name, data, **options)
    assert raised.value.cure or "gunzip" in name
    return str(raised.value)


def p(text: str, properties: str = "") -> str:
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


# what counts as text


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (p("one") + p("two"), "one\ntwo"),
        (f"{p('a')}<w:tbl><w:tr><w:tc>{p('b')}</w:tc><w:tc>{p('c')}</w:tc></w:tr></w:tbl>{p('d')}", "a\nb\nc\nd"),
        ("<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/></w:r></w:p>", "a\tb\nc-"),
        ('<w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t>a</w:t></w:r></w:p>', "a"),
        ("<w:p><w:r><w:t>a</w:t></w:r><w:del><w:r><w:delText>b</w:delText></w:r></w:del></w:p>", "a"),
        ("<w:p><w:ins><w:r><w:t>a</w:t></w:r></w:ins></w:p>", "a"),
        ("<w:p><w:moveFrom><w:r><w:t>a</w:t></w:r></w:moveFrom>"
         "<w:moveTo><w:r><w:t>b</w:t></w:r></w:moveTo></w:p>", "b"),
        (p("a", "<w:pPr><w:rPr><w:del/></w:rPr></w:pPr>") + p("b") + p("c"), "ab\nc"),
        (p("D", '<w:pPr><w:framePr w:dropCap="drop"/></w:pPr>') + p("rop"), "Drop"),
        ("<w:p><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:t>7</w:t></w:r></w:p>", "7"),
        (
            "<w:p><w:r><w:t>out </w:t></w:r><w:r><mc:AlternateContent><mc:Choice><w:txbxContent>"
            f"{p('box')}</w:txbxContent></mc:Choice><mc:Fallback>{p('box')}</mc:Fallback></mc:AlternateContent></w:r>"
            "<w:r><w:t>side</w:t></w:r></w:p>",
            "out side\nbox",
        ),
        ("<w:p><w:r><w:ruby><w:rt><w:r><w:t>x</w:t></w:r></w:rt>"
         "<w:rubyBase><w:r><w:t>y</w:t></w:r></w:rubyBase></w:ruby></w:r></w:p>", "y"),
    ],
)  # fmt: skip
def test_word_text(body: str, text: str) -> None:
    assert text_of("a.docx", making.docx(body)) == text
    strict = making.docx(body, namespace="http://purl.oclc.org/ooxml/wordprocessingml/main")
    assert text_of("b.docx", strict) == text


@pytest.mark.usefixtures("here")
def test_notes_of_word_follow_the_text_and_headers_do_not() -> None:
    notes = {"endnotes": f"<w:endnote>{p('end')}</w:endnote>", "footnotes": f"<w:footnote>{p('foot')}</w:footnote>"}
    assert text_of("a.docx", making.docx(p("body"), header1=p("header"), **notes)) == "body\nfoot\nend"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"one\par two\line three{\b four}", "one\ntwo\nthreefour"),
        (r"caf\'e9\u8364? \emdash\ldblquote x\rdblquote\~y\\\{\}", "café€ —“x”\xa0y\\{}"),
        (r"\uc2\u945ab c\uc0\u946 d{\uc3\u947\'41bc}e", "α cβdγe"),
        (r"\u-10179?\u-8704?", "\U0001f600"),
        (r"{\fonttbl{\f0 A;}{\f1\fcharset204 B;}{\f2\fcharset128 C;}}{\f1\'cf\'f0\'e8}\f2\'93\'fa\'96\'7b", "При日本"),
        (r"\ansicpg1251\'cf \trowd a\cell b\cell\row c", "П a\tb\nc"),
        (r"a{\footnote{\super 1}note}b\par c{\header h}{\*\unknown{\b x}}{\info{\title t}}", "ab\nc\n1note"),
        (r"{\field{\*\fldinst HYPERLINK x}{\fldrslt link}}{\pict\pngblip 89504e47}{\deleted gone}", "link"),
        (r"{\shp{\*\shpinst{\sp{\sn n}{\sv v}}{\shptxt box}}{\shprslt box}}\bin3 }}}x", "boxx"),
        (r"{\listtext 1.\tab}item\bin-9 \uc9999999999\u65 fallback", "itemA"),
    ],
)  # fmt: skip
def test_rich_text(body: str, text: str) -> None:
    assert text_of("a.rtf", f"{{\\rtf1\\ansi {body}}} after") == text


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("data", ["no rich text", r"{\rtf1 cut", "{\\rtf1 cut\\", r"{\rtf1\bin99 x}"])
def test_rich_text_that_is_none_or_is_cut_is_damaged(data: str) -> None:
    assert fault_of("a.rtf", data).startswith("it is damaged: it ")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<text:h>one</text:h>\n <text:p>two\n   <text:span>three</text:span></text:p>", "one\ntwo three"),
        ('<text:p>a<text:s text:c="3"/>b<text:tab/>c<text:line-break/>d<text:s/>e</text:p>', "a   b\tc\nd e"),
        ("<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:p>here</text:p>", "here"),
        (
            "<text:p>a<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>note</text:p>"
            "</text:note-body></text:note>b</text:p><text:p>c</text:p>",
            "ab\nc\nnote",
        ),
        ("<text:p>a<office:annotation><text:p>comment</text:p></office:annotation></text:p>", "a"),
        (
            "<text:p>a<draw:frame><draw:text-box><text:p>box</text:p></draw:text-box><svg:title>t</svg:title>"
            "</draw:frame>b</text:p>",
            "ab\nbox",
        ),
        (
            "<text:table-of-content><text:table-of-content-source><text:index-title-template>T"
            "</text:index-title-template></text:table-of-content-source><text:index-body><text:p>In</text:p>"
            "</text:index-body></text:table-of-content>",
            "In",
        ),
        ('<text:p>a<text:s text:c="999999999999"/>b</text:p>', f"a{' ' * 1000}b"),
    ],
)
def test_opendocument_text(body: str, text: str) -> None:
    assert text_of("a.odt", making.odt(body)) == text


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<title>no</title><style>p{}</style><p>one<p>two<script>'<p>'</script>", "one\ntwo"),
        ("<p>one <b>two</b>\n  three<br>four</p>five", "one two three\nfour\nfive"),
        ("<table><tr><td>a<td>b<tr><td>c</table>", "a\t\tb\nc"),
        ("<pre> a\n   b </pre>", "a\nb"),
        ("<p>caf&eacute;&nbsp;&amp; &#x1F600;&lt;i&gt;", "café\xa0& 😀<i>"),
        ("<template>no</template><noscript>no</noscript><iframe>no</iframe>yes<!-- no -->", "yes"),
        ("no markup at all", "no markup at all"),
        ("<div>" * 5000 + "deep" + "</div>" * 5000 + "<p>after", "deep\nafter"),
        ("<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head><title/></head><body>"
         "<p>caf&eacute; &lt;<a id='x'/>all</p></body></html>", "café <all"),
        ("<?xml version='1.0'?><html><p>not <b>closed</html>", "not closed"),
    ],
)  # fmt: skip
def test_web_page_text(page: str, text: str) -> None:
    assert text_of("a.html", page) == text


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("<p>Grüße".encode(), "utf-8"),
        ("<p>Grüße".encode("utf-8-sig"), "utf-8"),
        ("<p>Grüße".encode("utf-16"), "utf-8"),
        ("<p>Grüße".encode("cp1252"), "utf-8"),
        (b'<meta charset="iso-8859-1"><p>' + "Grüße".encode("cp1252"), "utf-8"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=cp437"><p>' + "Grüße".encode("cp437"), "utf-8"),
        (b'<?xml version="1.0" encoding="iso-8859-15"?><p>' + "Grüße".encode("iso-8859-15") + b"</p>", "utf-8"),
        (b"<meta charset=punycode><p>" + "Grüße".encode(), "utf-8"),
        ("<p>Grüße".encode("cp437"), "cp437"),
    ],
)
def test_web_pages_in_other_encodings(data: bytes, encoding: str) -> None:
    assert text_of("a.htm", data, encoding=encoding) == "Grüße"


@pytest.mark.usefixtures("here")
def test_boilerplate_is_taken_out_when_asked_for() -> None:
    running = "The river rose for three days, and nobody in the village slept before the water went down again. " * 5
    menu = "".join(f"<li><a href='/{i}'>Page {i}</a></li>" for i in range(20))
    page = f"<html><body><nav><ul>{menu}</ul></nav><p>{running}</p><p>{running}</p></body></html>"
    assert "Page 7" in text_of("a.html", page)
    left = text_of("a.html", page, boilerplate="remove")
    assert left.split() == (running * 2).split()
    only_menu = f"<html><body><ul>{menu}</ul></body></html>"
    assert "--boilerplate keep" in fault_of("b.html", only_menu, boilerplate="remove")
    assert "--boilerplate keep" in fault_of("c.html", "<p>" + "x" * (5 << 20), boilerplate="remove")


@pytest.mark.usefixtures("here")
def test_books_are_read_in_their_order_without_navigation() -> None:
    page = "<html xmlns='http://www.w3.org/1999/xhtml'><head><title/></head><body><p>{}&nbsp;</p></body></html>"
    pages = {name: page.format(name) for name in ("toc", "two", "one", "stray")}
    book = making.epub(pages, spine=["toc", "one", "two", "one"], nav="toc")
    assert text_of("a.epub", book).split() == ["one", "two"]
    fonts = making.epub(pages, spine=["two"], encryption="b/font.otf")
    assert text_of("b.epub", fonts) == "two"
    assert "(DRM)" in fault_of("c.epub", making.epub(pages, spine=["two"], encryption="b/two.xhtml"))
    assert "names 'three'" in fault_of("d.epub", making.epub(pages, spine=["three"]))


@pytest.mark.usefixtures("here")
def test_lines_of_a_paragraph_of_a_pdf_are_joined() -> None:
    line = "This line is as long as the page is wide, so the one below goes on"
    assert text_of("a.pdf", making.pdf("A title", line, line, "and ends here.", line)) == (
        f"A title\n{line} {line} and ends here.\n{line}"
    )
    assert text_of("b.pdf", making.pdf("one", "two", "three")) == "one\ntwo\nthree"


@pytest.mark.usefixtures("here")
def test_compressed_documents_and_capitals_are_read() -> None:
    assert text_of("a.html.gz", gzip.compress(b"<p>one")) == "one"
    assert text_of("A.DOCX", making.docx(p("one"))) == "one"
    assert text_of("a.odt.gz", gzip.compress(making.odt("<text:p>one</text:p>"))) == "one"


# what cannot be read

_WHOLE = {
    "a.docx": making.docx(p("some words of a text")),
    "a.odt": making.odt("<text:p>some words of a text</text:p>"),
    "a.epub": making.epub({"one": "<p>some words of a text</p>"}),
    "a.pdf": making.pdf("some words of a text"),
}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("suffix", DOCUMENTS)
def test_an_empty_file_of_any_kind_is_reported(suffix: str) -> None:
    assert "it is empty (0 bytes)" in fault_of(f"a{suffix}", b"")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", _WHOLE)
def test_no_piece_of_a_file_passes_for_the_whole(name: str) -> None:
    whole = _WHOLE[name]
    assert text_of(name, whole) == "some words of a text"
    ends = len(whole) - (0 if name == "a.pdf" else 22)  # a zip may lack nothing of its last record
    for size in range(1, ends - 8, 13):
        assert "damaged" in fault_of(name, whole[:size])


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", ["a.docx", "a.odt", "a.epub"])
def test_a_flipped_byte_of_the_text_is_noticed(name: str) -> None:
    whole = bytearray(_WHOLE[name])
    part = {"a.docx": b"word/document.xml", "a.odt": b"content.xml", "a.epub": b"b/one.xhtml"}[name]
    place = whole.index(part) + len(part) + 20
    whole[place] ^= 0x55
    assert "damaged" in fault_of(name, bytes(whole))


@pytest.mark.usefixtures("here")
def test_protected_files_ask_for_one_without_a_password() -> None:
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    assert "protected by a password" in fault_of("a.docx", ole + "EncryptedPackage".encode("utf-16-le") + bytes(99))
    assert "old format of Office" in fault_of("b.docx", ole)
    entry = "<m:manifest xmlns:m='urn:oasis:names:tc:opendocument:xmlns:manifest:1.0'><m:encryption-data/></m:manifest>"
    assert "protected by a password" in fault_of("a.odt", making.odt("<text:p>x</text:p>", manifest=entry))
    pypdf = pytest.importorskip("pypdf")
    Path("plain.pdf").write_bytes(making.pdf("secret"))
    for owner, name in ((False, "user.pdf"), (True, "owner.pdf")):
        writer = pypdf.PdfWriter(clone_from="plain.pdf")
        writer.encrypt("" if owner else "word", "other", algorithm="RC4-128")
        writer.write(name)
    with pytest.raises(Unreadable, match="protected by a password"):
        read_document("user.pdf")
    assert read_document("owner.pdf") == "secret"  # anybody may open it, so anybody may read it


@pytest.mark.usefixtures("here")
def test_documents_without_text_say_so() -> None:
    assert "it has no text" in fault_of("a.docx", making.docx("<w:p/>"))
    assert "it has no text" in fault_of("a.html", "<!-- nothing --><img src=x>")
    assert "OCR" in fault_of("a.pdf", making.pdf(drawn=b"10 10 100 100 re f"))


@pytest.mark.usefixtures("here")
def test_hostile_packages_come_to_an_end() -> None:
    bomb = making.docx("<w:p><w:r><w:t>" + "a" * 40_000_000)
    assert len(bomb) < 100_000
    assert "it unpacks to more than" in fault_of("bomb.docx", bomb)
    laugh = '<!DOCTYPE x [<!ENTITY a "ha">' + "".join(
        f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in zip("abcdefghi", "bcdefghij", strict=True)
    )
    assert "damaged" in fault_of("laugh.odt", making.odt("<text:p>&j;</text:p>", before=f"{laugh}]>"))
    Path("secret.txt").write_text("secret", encoding="utf-8")
    outside = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{Path("secret.txt").absolute().as_uri()}">]>'
    assert "damaged" in fault_of("outside.odt", making.odt("<text:p>a &e; b</text:p>", before=outside))
    assert "it has no text" in fault_of("comment.html", "<!--" * 3_000_000)  # libxml2 would never come back
    assert "x" in text_of("blank.html", "<pre>" + "\t " * 1_000_000 + "x")  # a square of that would take hours


# what that means for a run


def make_folder() -> None:
    same = "one and the same text, read from two kinds of files; there is enough of it to be compared"
    Path("d/sub").mkdir(parents=True)
    Path("d/a.docx").write_bytes(making.docx(p(same)))
    Path("d/b.txt").write_text(same, encoding="utf-8")
    Path("d/sub/C.HTML").write_text("<p>quite another text, which is like none of the others", encoding="utf-8")
    Path("d/sub/cut.pdf").write_bytes(making.pdf("cut")[:200])
    Path("d/~$a.docx").write_bytes(b"lock")
    Path("d/image.png").write_bytes(b"png")


@pytest.mark.usefixtures("here")
def test_a_folder_of_documents_is_read_and_faults_do_not_end_the_run() -> None:
    make_folder()
    found = neardup.find("d", threshold=0.9)
    assert [(pair["id_a"], pair["id_b"]) for pair in found.pairs.to_pylist()] == [("d/a.docx", "d/b.txt")]
    assert (found.summary.documents, found.summary.bad) == (3, 1)
    assert [str(fault) for fault in found.faults] == [
        "d/sub/cut.pdf: it is damaged: the mark at the end of a PDF is missing, so it was cut short. Fetch it again, "
        "or open it in its program and save it again."
    ]


@pytest.mark.usefixtures("here")
def test_a_bad_text_among_documents_still_ends_the_run() -> None:
    make_folder()
    Path("d/bad.txt").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(InputError, match=r"d/bad\.txt:1: byte 0xff"):
        neardup.find("d")


@pytest.mark.usefixtures("here")
def test_a_document_by_name_or_pattern_is_read_too() -> None:
    make_folder()
    for given in ("d/sub/cut.pdf", "d/sub/*.pdf"):
        found = neardup.find([Path(given), Path("d/b.txt")])
        assert (found.summary.documents, found.summary.bad) == (1, 1)
    assert neardup.find(["a text", "and another"]).summary.documents == 2
    with pytest.raises(InputError, match="which is a file"):
        neardup.find(["d/a.docx"])


@pytest.mark.usefixtures("here")
def test_the_markup_itself_is_read_when_it_is_said_to_be_text() -> None:
    Path("a.html").write_text("<p>x</p>", encoding="utf-8")
    batch = next(iter(open_inputs("a.html", input_format="text").tasks()))()
    assert batch.documents.blob(0) == b"<p>x</p>"


@pytest.mark.usefixtures("here")
def test_clean_copies_keep_what_could_not_be_read() -> None:
    make_folder()
    neardup.dedup("d", output="clean", threshold=0.9, keep="first")
    before = {path: path.read_bytes() for path in Path("d").rglob("*") if path.suffix in (".docx", ".HTML", ".pdf")}
    after = {Path("d") / path.relative_to("clean"): path.read_bytes() for path in Path("clean").rglob("*.*")}
    assert after == {path: data for path, data in before.items() if not path.name.startswith("~$")}
    with pytest.raises(InputError, match=r"is named as document, and a clean copy of d/a\.docx is document"):
        neardup.dedup("d/a.docx", output="other.pdf")


@pytest.mark.usefixtures("here")
def test_an_index_counts_documents_that_cannot_be_read() -> None:
    make_folder()
    with neardup.Index.build("x.index", "d") as index:
        assert index.built is not None
        assert (index.built.added, index.built.bad) == (3, 1)
        Path("more").mkdir()
        Path("more/new.docx").write_bytes(making.docx(p("a new one")))
        Path("more/bad.docx").write_bytes(b"")
        added = index.add("more", boilerplate="remove")
        assert (added.added, added.bad) == (1, 1)


@pytest.mark.usefixtures("here")
def test_boilerplate_is_part_of_how_a_run_reads() -> None:
    Path("a.html").write_text("<p>x", encoding="utf-8")
    assert open_inputs("a.html", boilerplate="remove").settings["boilerplate"] == "remove"
    with pytest.raises(InputError, match=r"boilerplate is 'drop'; known are keep, remove\."):
        open_inputs("a.html", boilerplate="drop")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("name", "module"), [("a.docx", "lxml"), ("a.pdf", "pypdfium2"), ("a.html", "lxml")])
def test_without_the_extra_the_cure_is_its_name(name: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("without").mkdir()
    Path(f"without/{module}.py").write_text(f"raise ModuleNotFoundError(name={module!r})", encoding="utf-8")
    gc.collect()  # processes of a run before this one would not look there
    monkeypatch.syspath_prepend("without")  # the processes that read documents look where this one does
    Path(name).write_bytes(_WHOLE.get(name, b"<p>x"))
    Path(f"more {name}").write_bytes(Path(name).read_bytes())
    Path("b.txt").write_text("a text", encoding="utf-8")
    told = f"{name}: reading {Path(name).suffix} needs {module}. pip install 'neardup[documents]'"
    assert [str(fault) for fault in neardup.find([Path(name), Path("b.txt")]).faults] == [told]
    first = re.escape(f"could be read. 2 bad records, the first: {told}")
    both = [Path(name), Path(f"more {name}")]
    for threads in (1, 2):
        with pytest.raises(neardup.MissingDependency, match=f"^nothing {first}$"):
            neardup.find(both, threads=threads)
    with pytest.raises(neardup.MissingDependency, match=f"^nothing of what against names {first}$"):
        neardup.find("b.txt", against=both)
    gc.collect()  # the errors hold the processes that cannot read


def test_names_in_capitals_are_found_and_locks_of_word_are_not(here: Path) -> None:
    for name in ("A.TXT", "b.PDF", "~$b.docx", ".hidden.docx", "c.png"):
        (here / name).touch()
    assert [Path(found.path).name for found in walk_folder(".")] == ["A.TXT", "b.PDF"]
    assert [Path(found.path).name for found in walk_folder(".", ["*.pdf"])] == []


@pytest.mark.usefixtures("here")
def test_an_unknown_way_of_packing_is_damage() -> None:
    with zipfile.ZipFile("a.odt", "w") as archive:
        archive.writestr("content.xml", "<x/>")
    data = bytearray(Path("a.odt").read_bytes())
    place = data.index(b"PK\x01\x02")
    data[place + 10] = data[8] = 99
    assert "damaged" in fault_of("a.odt", bytes(data))
