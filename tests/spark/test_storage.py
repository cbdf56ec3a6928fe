"""The files of a run: whole or not there, told apart from those of other runs, and damage is noticed."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from neardup.errors import SpoolError
from neardup.spark.packing import packed, unpacked
from neardup.spark.storage import Storage, files_written


@pytest.fixture
def root(tmp_path: Path) -> Storage:
    return Storage(str(tmp_path / "deep" / "work"))


@pytest.fixture
def storage(root: Storage) -> Storage:
    return root.begin({"spec": 1}, resume=False)


def files_of(storage: Storage) -> list[str]:
    return sorted(str(path.relative_to(storage.root)) for path in Path(storage.root).rglob("*") if path.is_file())


def test_arrays_and_facts_come_back(storage: Storage) -> None:
    storage.put("some/arrays", a=np.arange(5), b=np.zeros((2, 3), np.uint8))
    storage.put_facts("some/facts", {"é": [1, 2.5, None], "n": (1, {"x": True})})
    found = storage.get("some/arrays")
    assert found["a"].tolist() == [0, 1, 2, 3, 4]
    assert found["b"].shape == (2, 3)
    assert list(storage.get("some/arrays", "b")) == ["b"]
    assert storage.get_facts("some/facts") == {"é": [1, 2.5, None], "n": [1, {"x": True}]}
    with pytest.raises(SpoolError, match="same folder"):
        storage.get("some/other")


def test_no_damage_of_any_byte_of_arrays_passes() -> None:
    arrays = {"a": np.arange(4), "bc": np.arange(3, dtype=np.uint8)}
    data = packed(arrays)
    rng = random.Random(1)
    spared = 0
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 1 << rng.randrange(8)
        try:
            found = unpacked(bytes(damaged))
        except ValueError:
            continue
        spared += 1  # a byte that says nothing, such as one of a time
        assert {name: array.tolist() for name, array in found.items()} == {"a": [0, 1, 2, 3], "bc": [0, 1, 2]}
    assert spared < len(data) / 2
    for end in range(len(data)):
        with pytest.raises(ValueError, match="damaged"):
            unpacked(data[:end])


def test_no_damage_of_any_byte_of_facts_passes_and_what_is_damaged_is_removed(storage: Storage) -> None:
    facts = {"answers": [{"pairs": 12, "name": "x"}], "sent": 3}
    storage.put_facts("done/001-read", facts)
    file = Path(storage.root) / "done" / "001-read.json"
    data = file.read_bytes()
    for place in range(len(data)):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(SpoolError, match=r"001-read\.json is .*--resume"):
            storage.get_facts("done/001-read")
        assert not file.exists()


def test_a_damaged_file_of_arrays_is_named_and_removed(storage: Storage) -> None:
    storage.put("keys/000001", keys=np.arange(9))
    file = Path(storage.root) / "keys" / "000001.arrays"
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(SpoolError, match=r"keys/000001\.arrays is damaged.*--resume"):
        storage.get("keys/000001")
    assert not file.exists()


def test_an_attempt_that_breaks_off_while_it_writes_leaves_nothing_under_the_name(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin of a task is cut off before its file has its name: the one that is there stays, of the same bytes."""
    storage.put("keys/000001", keys=np.arange(9))
    for place in ("neardup.spark.storage.os.replace", "neardup.spark.storage.packed"):
        with monkeypatch.context() as patched:

            def cut_off(*_: object, **__: object) -> None:
                raise KeyboardInterrupt

            patched.setattr(place, cut_off)
            for name in ("keys/000001", "keys/000002"):
                with pytest.raises(KeyboardInterrupt):
                    storage.put(name, keys=np.arange(9))
    assert storage.get("keys/000001")["keys"].tolist() == list(range(9))
    assert not storage.has("keys/000002.arrays")


def test_files_that_are_written_in_a_block_are_told_with_their_bytes(storage: Storage) -> None:
    with files_written() as outer:
        storage.put_bytes("a/1", b"four")
        with files_written() as inner:
            storage.put_bytes("a/2", b"seven77")
        with storage.creating("b/3") as out:
            out.write(b"xyz")
    storage.put_bytes("a/4", b"")
    assert (outer, inner) == ({"a/1": 4, "b/3": 3}, {"a/2": 7})
    assert storage.are_there(outer | inner)
    assert storage.are_there({})
    (Path(storage.root) / "a" / "2").write_bytes(b"seven7")
    assert storage.are_there(outer)
    assert not storage.are_there(inner)
    assert not storage.are_there({"c/1": 0})


def test_what_still_works_for_a_run_that_is_gone_writes_nothing_into_the_next(root: Storage) -> None:
    first = root.begin({"threshold": 0.5}, resume=False)
    first.put("read/000000", counts=np.arange(3))
    root.remove()
    second = root.begin({"threshold": 0.8}, resume=False)
    with pytest.raises(SpoolError, match="cannot be written"):
        first.put("read/000000", counts=np.arange(3))
    assert files_of(second) == []
    assert files_of(root) == ["run.json"]


def test_a_run_is_gone_on_with_in_its_own_folder_unless_it_was_made_from_something_else(root: Storage) -> None:
    first = root.begin({"inputs": {"a.jsonl": "1 byte"}}, resume=False)
    assert root.begin({"inputs": {"a.jsonl": "1 byte"}}, resume=True) == first
    with pytest.raises(SpoolError, match=r"inputs\.a\.jsonl is \"2 bytes\" and was \"1 byte\""):
        root.begin({"inputs": {"a.jsonl": "2 bytes"}}, resume=True)
    record = Path(root.root) / "run.json"
    record.write_text(record.read_text().replace("1 byte", "2 byte"))
    with pytest.raises(SpoolError, match=r"run\.json .* Delete the folder"):
        root.begin({"inputs": {"a.jsonl": "2 byte"}}, resume=True)


def test_a_record_of_another_version_is_told_with_both_versions(root: Storage) -> None:
    root.begin({"version": "0.1.0"}, resume=False)
    with pytest.raises(SpoolError, match=r'version is "0\.2\.0" and was "0\.1\.0"'):
        root.begin({"version": "0.2.0"}, resume=True)
    assert json.loads((Path(root.root) / "run.json").read_text())["facts"]["identity"] == {"version": "0.1.0"}
