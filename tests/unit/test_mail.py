"""E-mail: the text of a message, its attachments as documents of their own, and mailboxes."""

from __future__ import annotations

import gzip
import mailbox
from email.message import EmailMessage
from pathlib import Path

import pytest
from tests.documents import making
from tests.unit.reading import batches_of, read

import neardup
from neardup.errors import InputError
from neardup.inputs import mailbox as boxes
from neardup.inputs.documents import Unreadable, mail, read_document
from neardup.inputs.names import ids_of
from neardup.inputs.reader import open_inputs

BODY = "Dear all,\nFrom here on\n\nFrom Monday 10:00 on we meet in 2019\nGrüße"
MIXED = b"Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def message(subject: str = "Café – news", **attached: bytes) -> EmailMessage:
    made = EmailMessage()
    made["Subject"] = subject
    made.set_content(BODY, cte="quoted-printable")
    made.add_alternative("<p>the same as HTML", subtype="html")
    for name, data in attached.items():
        made.add_attachment(data, maintype="application", subtype="octet-stream", filename=name.replace("_", "."))
    return made


def texts_of(path: str) -> dict[str, str]:
    pytest.importorskip("lxml")
    found = {}
    for batch in batches_of(open_inputs(path)):
        found |= {str(id): batch.documents.blob(i).decode() for i, id in enumerate(ids_of(batch))}
    return found


def text_of(data: bytes) -> str:
    Path("a.eml").write_bytes(data)
    return read_document("a.eml")


def test_a_message_is_its_subject_and_its_plain_text() -> None:
    assert text_of(message().as_bytes()) == f"Café – news\n\n{BODY}"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"Subject: s\n\ncaf\xc3\xa9", "s\n\ncafé"),
        (b"Subject: s\nContent-Type: text/plain; charset=nonsense\n\ncaf\xe9", "s\n\ncafé"),
        (b"Subject: s\nContent-Type: text/plain; charset=utf-8\n\ncaf\xe9\0", "s\n\ncafé"),
        (b"Subject: s\nContent-Type: text/plain; charset=iso-8859-1\n\n\x93x\x94", "s\n\n“x”"),
        (b"Subject: =?none?q?x?=\nContent-Type: text/plain; charset=\"a\0b\"\n\ny", "=?none?q?x?=\n\ny"),
        (b"Subject: s\r\nContent-Transfer-Encoding: base64\r\n\r\ndHdvDQpsaW5lcw==\r\n", "s\n\ntwo\nlines"),
        (MIXED + b"--b\n\none\n--bb\n--b\nContent-Type: text/plain\n\ntwo\n--b--\nafter", "s\n\none\n--bb\n\ntwo"),
        (b"Subject: s\n" + b"Content-Type: text/plain" + b";" * 900_000 + b"\n\nx", "s\n\nx"),
        (b"Subject: " + b"=?a?q?x" * 100_000 + b"\n\nx", "=?a?q?x" * 100_000 + "\n\nx"),
    ],
)  # fmt: skip
def test_charsets_and_boundaries_may_be_anything(data: bytes, text: str) -> None:
    assert text_of(data) == text


def test_html_is_read_where_there_is_no_plain_text() -> None:
    pytest.importorskip("lxml")
    html = "Subject: s\nContent-Type: text/html; charset=latin-1\n\n<meta charset=utf-8><p>caf\xe9<p>x"
    assert text_of(html.encode("latin-1")) == "s\n\ncafé\nx"


def nested(depth: int) -> bytes:
    heads = (b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(depth))
    return b"".join(heads) + b"\nx\n" + b"".join(b"\n--b%d--\n" % i for i in reversed(range(depth)))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (MIXED + b"--b\n\nx\n" * 100_000 + b"--b--\n", "it has 1,000 parts or more, or 20 inside each other"),
        (nested(5000), "it has 1,000 parts or more, or 20 inside each other"),
        (MIXED + b"--b\n\ncut short\n", "it is damaged: it ends before its last part does"),
        (bytes(range(256)) * 4, "it is damaged: it does not begin with the headers of a message"),
        (b"X: " + b"x" * 2_000_000 + b"\n\nx", "it is damaged: its headers have more than 1 MB"),
        (b"", r"it is empty \(0 bytes\)"),
    ],
)
def test_a_message_made_to_stop_a_run_is_one_bad_document(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=f"^{reason}"):
        text_of(data)
    Path("d").mkdir()
    Path("d/a.eml").write_bytes(data)
    Path("d/b.eml").write_bytes(b"Subject: s\n\nx")
    found = read("d")
    assert (found.texts, found.bad) == (["s\n\nx"], 1)


def test_a_message_of_too_many_bytes_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail, "MOST_MAIL", 1000)
    with pytest.raises(Unreadable, match=r"^it has more than 0 MB"):
        text_of(b"Subject: s\n\n" + b"x" * 1000)


def test_attachments_are_documents_of_their_own() -> None:
    inner = message("inner", deep_rtf=b"{\\rtf1 deep}")
    outer = message(a_docx=making.docx("<w:p><w:r><w:t>word</w:t></w:r></w:p>"), b_txt="naïve".encode(), c_png=b"x")
    outer.add_attachment("caf\xe9", subtype="plain", charset="latin-1", filename="b.txt", cte="base64")
    outer.add_attachment(inner)
    outer.add_attachment(b"{\\rtf1 unnamed}", maintype="application", subtype="rtf")
    outer.add_attachment("id,text\n1,x\n", subtype="csv", filename="../t.csv")
    Path("m.eml").write_bytes(outer.as_bytes())
    assert texts_of("m.eml") == {
        "m.eml": f"Café – news\n\n{BODY}",
        "m.eml/a.docx": "word",
        "m.eml/b.txt": "naïve",
        "m.eml/4 b.txt": "café",
        "m.eml/7.eml": f"inner\n\n{BODY}",
        "m.eml/7.eml/deep.rtf": "deep",
        "m.eml/8.rtf": "unnamed",
    }
    passed = {(each.reason, each.suffix): each.count for each in open_inputs("m.eml").passed_over}
    assert passed == {("suffix", ".png"): 1, ("attached", ".csv"): 1}


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_mailbox_has_a_document_for_each_message(suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boxes, "_PIECE", 700)  # so that a line before a message is cut in two
    box = mailbox.mbox("box.mbox")
    for number in range(30):
        box.add(message(f"number {number}", **({"a_rtf": b"{\\rtf1 attached}"} if number == 1 else {})))
    box.close()
    if suffix:
        Path("box.mbox.gz").write_bytes(gzip.compress(Path("box.mbox").read_bytes()))
    name = f"box.mbox{suffix}"
    wanted = {f"{name}/{number}.eml": f"number {number - 1}\n\n{BODY}" for number in range(1, 31)}
    assert texts_of(name) == wanted | {f"{name}/2.eml/a.rtf": "attached"}


def test_lines_of_a_text_that_begin_as_messages_do_are_text() -> None:
    head = b"From a@b Mon Jan  1 10:00:00 2018\nSubject: s\n\n"
    Path("box.mbox").write_bytes(head + b"x\n\nFrom me\n\nFrom you at 10:00\nfor ever\n" + head + b">From >From\n")
    assert list(texts_of("box.mbox").values()) == [
        "s\n\nx\n\nFrom me\n\nFrom you at 10:00\nfor ever",
        "s\n\nFrom >From",
    ]


def test_a_mailbox_that_is_none_is_damaged() -> None:
    Path("box.mbox").write_bytes(b"Subject: s\n\nx")
    with pytest.raises(InputError, match=r"^box\.mbox cannot be read as an archive: it does not begin with 'From '"):
        open_inputs("box.mbox")


def test_clean_copies_are_made_of_messages_without_documents_attached() -> None:
    Path("d").mkdir()
    Path("d/a.eml").write_bytes(message().as_bytes())
    Path("d/b.eml").write_bytes(message(c_png=b"x").as_bytes())
    neardup.dedup("d", output="clean", keep="first")
    assert [path.name for path in Path("clean").iterdir()] == ["a.eml"]
    assert Path("clean/a.eml").read_bytes() == Path("d/a.eml").read_bytes()
    Path("d/c.eml").write_bytes(message(a_rtf=b"{\\rtf1 x}").as_bytes())
    with pytest.raises(
        InputError, match=r"c\.eml is mail with attachments or a mailbox, of which no clean copy is made"
    ):
        neardup.dedup("d", output="clean2")
