"""How much still repeats when passages were cut out, and segments and cuts that are kept: in memory and in files."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.oracles.repeats import windows

import neardup
from neardup.engine.repeats import kept
from neardup.inputs.reader import open_inputs
from neardup.params import InputOptions, Normalize, RunOptions
from neardup.stages.repeats.segments import Segments
from neardup.tasks.repeats import cutting
from neardup.tasks.repeats.cutting import KeptCuts
from neardup.tasks.repeats.run import PassageRun
from neardup.tasks.repeats.second import second_pass
from neardup.tasks.repeats.settings import Cutting, Length

SPAN = 16


def some_texts(seed: int, count: int = 40) -> list[str]:
    """Texts of few words, so that much repeats, some of it only when what stood between is gone."""
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdé", k=draw.randint(1, 6))) for _ in range(14)]
    passages = [" ".join(draw.choices(words, k=6)) for _ in range(6)]
    return [" ".join(draw.choice([*passages, *words]) for _ in range(draw.randint(2, 9))) for _ in range(count)]


@pytest.mark.parametrize("policy", ["first", "first-greedy", "none", "other-documents"])
@pytest.mark.parametrize("snap", ["char", "word"])
def test_a_second_pass_finds_what_brute_force_finds_in_the_cut_texts(policy: str, snap: str) -> None:
    found = neardup.passages(some_texts(3), min_bytes=SPAN, threads=1)
    left = [text.encode() for text in found.cut(policy, snap=snap, min_left=10)["text"].to_pylist()]
    covered: set[tuple[int, int]] = set()
    for document, start in windows(left, SPAN):
        covered |= {(document, at) for at in range(start, start + SPAN)}
    told = found.second_pass(policy, snap=snap, min_left=10)
    assert (told.documents, told.bytes) == (len(left), sum(map(len, left)))
    assert told.repeated_bytes == len(covered)
    assert (told.spans > 0) == bool(covered)
    found.close()


def test_a_cut_can_bring_together_what_then_repeats() -> None:
    notice = "<a notice that is the same everywhere>"
    texts = [notice, f"one half of it {notice}and the other", "one half of it and the other"]
    found = neardup.passages(texts, min_bytes=20, threads=1)
    assert found.spans["source_id"].to_pylist() == [0, 0]
    assert found.cut(snap="char")["text"].to_pylist()[1:] == [texts[2], texts[2]]
    assert found.second_pass(snap="char").later_bytes == len(texts[2])
    assert found.second_pass(snap="char", min_left=1000).spans == 0


def opened(texts: list[str]) -> PassageRun:
    given: dict[str, Any] = {"threads": 1, "resume": False}
    reader = open_inputs(texts, InputOptions.of({}))
    return PassageRun(reader, Length("byte", SPAN), RunOptions.of(given), normalize=Normalize("none"))


@pytest.mark.parametrize("is_filed", [False, True])
def test_what_is_kept_is_what_was_walked_and_snapped(is_filed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = some_texts(8, count=120)
    monkeypatch.setattr(kept, "BLOCK", 7)
    monkeypatch.setattr(cutting, "_BLOCK", 7)
    if is_filed:
        monkeypatch.setattr(kept, "MEMORY_SHARE", 0.0)
        monkeypatch.setattr(cutting, "MEMORY_SHARE", 0.0)
    with opened(texts) as plain:
        walked = Segments.together(list(plain.find().segments()))
    with opened(texts) as run:
        for _ in range(2):
            again = Segments.together(list(run.segments()))
            for name in Segments.__slots__:
                assert np.array_equal(getattr(again, name), getattr(walked, name))
        cuts, wanted = KeptCuts(run.find(), run.space), []
        for document in run.cut_documents(Cutting(min_cut=1)):
            cuts.append(document)
            wanted.append((document.row, document.before, document.cuts, document.after))
        assert len(wanted) > 20
        for _ in range(2):
            assert [(each.row, each.before, each.cuts, each.after) for each in cuts.documents()] == wanted
        names = [] if run.space.workdir is None else run.space.workdir.names()
        assert names == (["cuts", "segments"] if is_filed else [])
        assert second_pass(run, cuts.documents(), 0).documents == len(texts)


def test_the_work_of_a_second_pass_is_gone_when_it_is_over(tmp_path: Path) -> None:
    texts = some_texts(1)
    found = neardup.passages(texts, min_bytes=SPAN, threads=1, workdir=tmp_path / "work")
    found.second_pass()
    assert [path.name for path in tmp_path.iterdir()] == ["work"]
    found.close()
    assert not list(tmp_path.iterdir())
