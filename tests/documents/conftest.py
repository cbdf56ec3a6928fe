"""A library that stands in for PDFium where a reader must misbehave: it does what the document says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

STAND_IN = """
import os, re, signal, sys, time
import neardup.inputs.documents.child as child
class raw: FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY = 4, 5
class PdfiumError(Exception): pass
class PdfDocument:
    def __init__(self, data):
        said = {**globals(), "text": "fine"}
        exec(data[5:-5].decode(), said)
        self.text = said["text"]
    def __len__(self): return 1
    def __getitem__(self, number): return self
    def close(self): pass
    def get_textpage(self): return self
    def get_text_range(self): return self.text
"""


def does(code: str) -> bytes:
    """A PDF that makes the reader of the tests do something; its text is ``text``."""
    return b"%PDF-" + code.encode() + b"%%EOF"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Writes documents; readers that are started use the library of the tests."""
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "pypdfium2.py").write_text(STAND_IN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "library"))
    monkeypatch.chdir(tmp_path)

    def put(name: str, code: str = "") -> str:
        Path(name).write_bytes(does(code))
        return name

    return put
