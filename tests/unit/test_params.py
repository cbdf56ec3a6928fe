"""Parameters are parsed once, print as they are written, and are refused with their value and a cure."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest

from neardup import tuning
from neardup.errors import InputError
from neardup.params import (
    LINK_RULES,
    MEASURES,
    SKETCH_FAMILIES,
    Bands,
    CandidateShingle,
    Normalize,
    Screen,
    Shingle,
    Spec,
    check_choice,
    check_exact,
    check_probability,
    check_slots,
    check_threshold,
)

SPEC = Spec(
    threshold=0.8,
    recall=0.991,
    shingle=Shingle("char", 9),
    normalize=Normalize("nfc"),
    sketch="hybrid",
    slots=128,
    bands=Bands(16, 8),
    seed=1,
    min_matches=80,
    crowd=1000,
)


@pytest.mark.parametrize("text", ["char:9", "char:1", "word:3", "byte:8", "byte:1000", "item"])
def test_shingles_print_as_they_are_written(text):
    assert str(Shingle.parse(text)) == text
    assert Shingle.parse(Shingle.parse(text)) == Shingle.parse(text)


@pytest.mark.parametrize(("text", "k"), [("char", 9), ("word", 3), ("byte", 9), ("item", 1)])
def test_shingles_have_a_default_length(text, k):
    assert Shingle.parse(text).k == k


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("chars:9", "Did you mean 'char'"),
        ("char:0", "from 1 to 1000"),
        ("char:1001", "from 1 to 1000"),
        ("char:-1", "char:5"),
        ("char:", "shingle is 'char:'"),
        ("char:9.0", "shingle is 'char:9.0'"),
        ("char:٩", "whole number"),
        ("item:2", "shingle is 'item:2'"),
        ("", "Give char:K"),
    ],
)
def test_a_shingle_that_is_none_is_refused_with_its_value(text, words):
    with pytest.raises(InputError, match=words):
        Shingle.parse(text)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("nfc", "nfc"),
        ("none", "none"),
        ("NFKC, Casefold", "nfkc,casefold"),
        ("punct,space", "nfc,space,punct"),
        ("strip", "nfc,strip"),
        ("digits,punct,none", "none,punct,digits"),
        ("none,casefold,space,punct", "none,casefold,space,punct"),
    ],
)
def test_normalisations_print_in_one_order(text, printed):
    assert str(Normalize.parse(text)) == printed
    assert Normalize.parse(printed) == Normalize.parse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nfd", "Did you mean 'nfc'"),
        ("nfc,nfkc", "not several"),
        ("space,strip", "one of them"),
        ("punct,punct", "given twice"),
        ("", "normalize has ''"),
    ],
)
def test_a_normalisation_that_contradicts_itself_is_refused(text, words):
    with pytest.raises(InputError, match=words):
        Normalize.parse(text)


def test_only_steps_beyond_the_form_change_more_than_the_form():
    assert Normalize.parse("nfkc").is_form_only
    assert not any(Normalize.parse(step).is_form_only for step in ("casefold", "punct", "space", "strip", "digits"))


def test_bands_print_as_they_are_written_and_know_their_slots():
    assert str(Bands.parse(" 32 x 8 ")) == "32x8"
    assert Bands.parse("32×8").slots == 256


@pytest.mark.parametrize("text", ["32", "32x0", "0x8", "axb", "32x8x1", "-1x8", "1.5x2"])
def test_bands_that_are_none_are_refused(text):
    with pytest.raises(InputError, match="such as 32x8"):
        Bands.parse(text)


@pytest.mark.parametrize("value", [0, -0.1, 1.0001, float("nan"), float("inf"), "a", None])
def test_a_threshold_outside_its_range_is_refused(value):
    with pytest.raises(InputError, match="above 0 and at most 1"):
        check_threshold(value)


@pytest.mark.parametrize("value", [1, 1.0, 0, 2, "x"])
def test_a_recall_of_one_or_outside_its_range_is_refused(value):
    with pytest.raises(InputError, match=r"recall .*0\.99"):
        check_probability(value, "recall")


@pytest.mark.parametrize("value", [1, 0, -2, 4097, 2.0, "128", True, None])
def test_slots_that_are_no_usable_number_are_refused(value):
    with pytest.raises(InputError, match="from 2 to 4096"):
        check_slots(value)


def test_names_of_choices_are_listed_and_the_near_one_suggested():
    with pytest.raises(InputError, match=r"hybrid, independent.*Did you mean 'universal'"):
        check_choice("univesal", SKETCH_FAMILIES, "sketch")
    with pytest.raises(InputError, match=r"star, connected.*Did you mean 'star'"):
        check_choice("stars", LINK_RULES, "link")
    with pytest.raises(InputError, match=r"jaccard, containment.*Did you mean 'containment'"):
        check_choice("containmnt", MEASURES, "measure")


def test_each_field_of_a_spec_changes_its_id_and_equal_specs_share_it():
    others = {
        "threshold": 0.7,
        "recall": 0.95,
        "shingle": Shingle("word", 3),
        "normalize": Normalize("nfc", space=True),
        "sketch": "universal",
        "slots": 256,
        "bands": Bands(8, 16),
        "seed": 2,
        "min_matches": 81,
        "crowd": 10,
        "collapse_exact": True,
        "exact": True,
        "measure": "containment",
        "verify": "text",
        "candidates_by": CandidateShingle(Shingle("char", 12), 0.5),
        "overlap": "gpt3",
        "screen": Screen(fields=128, width=1, least=103, least_alone=106),
    }
    assert set(others) == {field.name for field in fields(Spec)}
    ids = {replace(SPEC, **{name: value}).id for name, value in others.items()}
    assert len(ids | {SPEC.id}) == len(others) + 1
    assert replace(SPEC).id == SPEC.id
    assert len(SPEC.id) == 12


def test_a_spec_as_a_dict_is_plain_json_and_parses_again():
    plain = json.loads(json.dumps(SPEC.as_dict()))
    assert plain == SPEC.as_dict()
    assert plain["id"] == SPEC.id
    assert Shingle.parse(plain["shingle"]) == SPEC.shingle
    assert Normalize.parse(plain["normalize"]) == SPEC.normalize
    assert Bands.parse(plain["bands"]) == SPEC.bands


def test_a_spec_without_the_exact_join_is_told_as_before_there_was_one():
    """Files written by an older version have the same id."""
    assert "exact" not in SPEC.as_dict()
    assert replace(SPEC, exact=True).as_dict()["exact"] is True
    assert str(Bands(0, 0)) == "none"


@pytest.mark.parametrize(
    "spec",
    [
        SPEC,
        replace(SPEC, collapse_exact=True, crowd=7),
        tuning.make_spec(threshold=0.4),  # which has a screen
        tuning.make_spec(exact=True),
        tuning.make_spec(measure="containment", shingle="word:3", normalize="nfkc,casefold"),
    ],
)
def test_a_spec_comes_back_from_its_plain_values(spec: Spec):
    stored = json.loads(json.dumps(spec.as_dict()))
    assert Spec.from_dict(stored) == spec
    with pytest.raises(ValueError, match="another spec"):
        Spec.from_dict({**stored, "seed": spec.seed + 1})
    with pytest.raises(KeyError):
        Spec.from_dict({name: value for name, value in stored.items() if name != "shingle"})


def test_exact_is_yes_no_or_auto():
    assert [check_exact(value) for value in (True, False, "auto")] == [True, False, False]
    with pytest.raises(InputError, match="exact is 'often'"):
        check_exact("often")
