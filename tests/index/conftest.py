"""The index that the plain tests ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.index.specs import TEXTS

from neardup import Index


@pytest.fixture(params=["memory", "disk"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Four documents."""
    path = tmp_path / "index" if request.param == "disk" else None
    with Index.create(path, threshold=0.7, shingle="char:4") as index:
        index.add(list(TEXTS), list(TEXTS.values()))
        yield index
