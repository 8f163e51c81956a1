"""Options of methods."""

from fractions import Fraction

import pytest

from dpproxy.anonymize import options
from dpproxy.anonymize.model import InvalidOption, OptionValue, ViewRequest


def asked(expected: int | None = None, **given: OptionValue) -> ViewRequest:
    return ViewRequest((), given, expected)


def test_what_is_not_known_is_refused_with_what_is() -> None:
    options.only(asked(k=3), {"k": ""})
    with pytest.raises(InvalidOption) as caught:
        options.only(asked(kk=3), {"k": "", "scale": ""})
    assert caught.value.option == "kk"
    assert caught.value.hint == "Its options: k, scale."


def test_words() -> None:
    assert options.word(asked(), "scale", ("range", "none")) == "range"
    assert options.word(asked(scale="none"), "scale", ("range", "none")) == "none"
    with pytest.raises(InvalidOption, match="scale is one of range, none"):
        options.word(asked(scale=3), "scale", ("range", "none"))


@pytest.mark.parametrize("value", [1, -3, Fraction(5, 2), "five", (Fraction(3),)])
def test_k_is_a_whole_number_of_at_least_2(value: OptionValue) -> None:
    with pytest.raises(InvalidOption, match="k is a whole number, at least 2"):
        options.cluster_size(asked(k=value), 1)


def test_k_is_required() -> None:
    assert options.cluster_size(asked(k=7), 1) == 7
    assert options.cluster_size(asked(k=Fraction(7)), 1) == 7
    with pytest.raises(InvalidOption, match="k is missing"):
        options.cluster_size(asked(), 1)


def test_numbers() -> None:
    assert options.number("t", 2) == options.number("t", Fraction(2)) == 2
    with pytest.raises(InvalidOption, match="t is a number"):
        options.number("t", "2")


@pytest.mark.parametrize(
    ("expected", "attributes", "k"),
    [(None, 1, 11), (1080, 1, 32), (1080, 4, 11), (10**6, 4, 100), (10**6, 2, 1000)],
)
def test_k_is_chosen_from_public_facts(expected: int | None, attributes: int, k: int) -> None:
    assert options.cluster_size(asked(expected, k="auto"), attributes) == k
