"""Priors as text."""

import re
from pathlib import Path

import pytest

from udfs import priors
from udfs.prior_notation import FAMILIES, parse
from udfs.priors import Prior
from udfs.privacy import InvalidMechanism


@pytest.mark.parametrize(
    ("text", "prior"),
    [
        ("uniform(0, 1)", priors.uniform(0, 1)),
        ("  normal ( 44 ,6.0 ) ", priors.normal(44, 6)),
        ("truncated_normal(44, 6, 18, 90)", priors.truncated_normal(44, 6, 18, 90)),
        ("lognormal(6, 1e0)", priors.lognormal(6, 1)),
        ("triangular(-1, 0, 1)", priors.triangular(-1, 0, 1)),
        ("beta(2, 5)", priors.beta(2, 5)),
        ("beta(2, 5, 0, 100)", priors.beta(2, 5, 0, 100)),
        ("histogram([0, 10], [1])", priors.histogram([0, 10], [1])),
        ("point(3)", priors.point(3)),
        ("table([0, 4], [0.25, 0.75])", priors.table([0, 4], [0.25, 0.75])),
        ('nominal(["a) + b", "\\u00e9"], [1, 2])', priors.nominal(["a) + b", "é"], [1, 2])),
        ("ordinal([1, 2, 3], [1, 1, 1])", priors.ordinal([1, 2, 3], [1, 1, 1])),
        ("custom([1, 2], [1, 1], [[0, 1], [2, 0]])", priors.custom([1, 2], [1, 1], [[0, 1], [2, 0]])),
        ("0.25*point(0)+0.75 * point(2)", priors.table([0, 2], [1, 3])),
        ("1e-1 * point(0) + .9 * point(2)", priors.table([0, 2], [1, 9])),
        ("3 * point(0)", priors.point(0)),
    ],
)
def test_a_text_is_its_prior(text: str, prior: Prior):
    assert parse(text) == prior


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is written like"),
        ("normal", "is written like"),
        ("normal 0, 1", "is written like"),
        ("normal(0, 1", "is written like"),
        ("normal(0 1)", "is written like"),
        ("normal()", "is written like"),
        ("normal(0, x)", "is written like"),
        ("normal(0, 1) and", "is written like"),
        ("1.2.3 * normal(0, 1)", "is written like"),
        ("0.5 * point(0) + ", "is written like"),
        ("nominal(" + "[" * 100_000, "is written like"),
        (f"point({'9' * 10_000})", "is written like"),
        ("gamma(1, 2)", "no family of priors is called gamma; there are uniform, normal"),
        ("normal(0)", r"the prior normal is written normal\(mean, sd\)"),
        ("nominal(1, 2)", r"the prior nominal is written nominal\(\[values\], \[masses\]\)"),
        ("normal(0, NaN)", "finite"),
        ("normal(0, true)", "takes numbers"),
        ('normal(0, "1")', "takes numbers"),
        ("point(0) + point(1)", "needs its share"),
        ("0.5 * point(0) + point(1)", "needs its share"),
        ("0 * point(0) + 1 * point(1)", "needs its share"),
        ('0.5 * point(0) + 0.5 * nominal(["a"], [1])', "only priors over numbers mix"),
    ],
)
def test_what_is_no_prior_is_refused_in_one_line(text: str, message: str):
    with pytest.raises(InvalidMechanism, match=message) as caught:
        parse(text)
    assert len(str(caught.value)) < 300


def test_every_family_says_its_arguments():
    for name, (shown, _) in FAMILIES.items():
        with pytest.raises(InvalidMechanism) as caught:
            parse(f"{name}(1, 2, 3, 4, 5, 6)")
        assert str(caught.value) == f"the prior {name} is written {name}({shown})"


def test_every_family_is_documented_and_no_other():
    page = Path(__file__).parents[2].joinpath("docs", "refinement.md").read_text(encoding="utf-8")
    written = re.findall(r"^\| `([a-z_]+\(.*?\))` \|", page, re.MULTILINE)
    assert written == [f"{name}({shown})" for name, (shown, _) in FAMILIES.items()]


_PLACES = {
    "low": "1", "mode": "2", "high": "3", "mean": "2", "sd": "1", "mu": "0", "sigma": "1", "alpha": "2", "beta": "2",
    "value": "5", "[edges]": "[1, 2, 3]", "[masses]": "[1, 2]", "[values]": "[1, 2]",
    "[[distances], ...]": "[[0, 1], [1, 0]]",
}  # fmt: skip


def _filled(written: str) -> str:
    """A form as it is documented, with numbers in its places."""
    name, places = written.rstrip(")").split("(", 1)
    return f"{name}({', '.join(_PLACES[p] for p in re.split(r', (?![.])', places))})"


def test_every_form_that_is_told_is_read():
    """Those of the documentation, and those that a refusal names."""
    text = (Path(__file__).parents[2] / "docs/refinement.md").read_text(encoding="utf-8")
    table = text.split("## Priors")[1].split("## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    forms = [form for row in rows for form in re.findall(r"`(.+?)`", row)]
    assert len(forms) == len(FAMILIES) + 1  # a mixture, too
    forms += [f"{name}({shown})" for name, (shown, _) in FAMILIES.items()]
    for each in (one for form in forms for one in form.split(" or ")):
        parse(each if "*" in each else _filled(each))
