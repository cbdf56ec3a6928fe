"""Documents made by hand for the tests: the smallest files that are of their kinds."""

from __future__ import annotations

import io
import zipfile

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
_OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
_SVG = "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"
_DRAW = "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"
_COMPATIBILITY = "http://schemas.openxmlformats.org/markup-compatibility/2006"
_CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="b/book.opf"/>'
    "</rootfiles></container>"
)


def package(parts: dict[str, str | bytes]) -> bytes:
    """A zip archive."""
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return stored.getvalue()


def docx(body: str, *, namespace: str = WORD, **parts: str) -> bytes:
    """A Word document of a body; further parts by name without suffix: footnotes, endnotes."""

    def part(name: str, inner: str) -> str:
        return f'<w:{name} xmlns:w="{namespace}" xmlns:mc="{_COMPATIBILITY}">{inner}</w:{name}>'

    relations = "".join(f'<Relationship Type="x/{name}" Target="{name}.xml"/>' for name in parts)
    found: dict[str, str | bytes] = {
        "word/document.xml": part("document", f"<w:body>{body}</w:body>"),
        "word/_rels/document.xml.rels": "<Relationships "
        f'xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{relations}</Relationships>',
    }
    return package(found | {f"word/{name}.xml": part(name, inner) for name, inner in parts.items()})


def odt(body: str, manifest: str = "", before: str = "") -> bytes:
    """An OpenDocument text of a body; ``before`` stands before the root element."""
    content = (
        f'{before}<office:document-content xmlns:office="{_OFFICE}" xmlns:text="{_TEXT}" xmlns:svg="{_SVG}" '
        f'xmlns:draw="{_DRAW}"><office:body><office:text>{body}</office:text></office:body></office:document-content>'
    )
    return package({"content.xml": content} | ({"META-INF/manifest.xml": manifest} if manifest else {}))


def epub(pages: dict[str, str], *, spine: list[str] | None = None, encryption: str = "", nav: str = "") -> bytes:
    """An e-book of pages; ``spine`` is their order, ``nav`` the one that holds the navigation."""
    is_nav = dict.fromkeys(pages, "") | {nav: 'properties="nav"'}
    items = "".join(
        f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml" {is_nav[name]}/>' for name in pages
    )
    order = "".join(f'<itemref idref="{name}"/>' for name in (spine or pages))
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": _CONTAINER,
        "b/book.opf": f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{items}</manifest>'
        f"<spine>{order}</spine></package>",
    }
    if encryption:
        parts["META-INF/encryption.xml"] = (
            '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" '
            'xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData><enc:CipherData>'
            f'<enc:CipherReference URI="{encryption}"/></enc:CipherData></enc:EncryptedData></encryption>'
        )
    return package(parts | {f"b/{name}.xhtml": page for name, page in pages.items()})


def pdf(*lines: str, drawn: bytes = b"") -> bytes:
    """A PDF of one page with a line of text each; ``drawn`` is what else is done on the page."""
    text = b"".join(f"BT /F 12 Tf 72 {700 - 20 * i} Td ({line}) Tj ET\n".encode() for i, line in enumerate(lines))
    return pdf_of(text + drawn)


def pdf_of(content: bytes, *objects: bytes, resources: bytes = b"", filter: bytes = b"") -> bytes:
    """A PDF of one page that is drawn by ``content``, in the font ``F``; further objects are numbered from 6."""
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F 5 0 R >> %b >> >>" % resources,
        b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(content), filter, content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        *objects,
    )
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, each in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, each)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    return bytes(out)
