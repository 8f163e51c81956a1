# ruff: noqa: FBT003 - records written out
from decimal import Decimal
from fractions import Fraction

from msgspec.structs import replace

from dpproxy.policy.dump import protected_view
from dpproxy.policy.model import ProtectedView
from dpproxy.views.listing import COLUMNS, UNBOUNDED, listed
from dpproxy.views.manifest import Built

VIEW = ProtectedView("v", (("method", "x"),), "SELECT a FROM t")
BUILD = Built(
    "v", 2, protected_view(VIEW), "x", True, False, 0, "words", 5 * 10**8, Fraction(0), 3, "t", ("t",), "lab", "", "d",
    "2020-01-01", "root", 10, {},
)  # fmt: skip


def row(build: Built | None, digest: str | None = "d", data_version: int = 3) -> dict[str, object]:
    [found] = listed({"v": VIEW}, [] if build is None else [build], lambda _: digest, data_version)
    return dict(zip((c.name for c in COLUMNS), found, strict=True))


def test_a_build_is_listed_with_its_price_and_guarantee():
    found = row(BUILD)
    assert (found["state"], found["epsilon"], found["rows"], found["epoch"]) == (
        "released",
        Decimal("0.5"),
        10,
        2,
    )
    assert (found["guarantee"], found["charged"]) == ("words", "ceiling of t, lab")


def test_the_state_tells_what_a_refresh_would_change():
    assert row(None)["state"] == "not built"
    assert str(row(None, None)["state"]).startswith("cannot be built")
    assert "stale" in str(row(BUILD, None)["state"])
    assert "stale" in str(row(BUILD, "other")["state"])
    assert row(BUILD, data_version=4)["state"] == "released, of data version 3"


def test_a_build_that_was_charged_and_cut_short_is_listed_though_nothing_declares_it():
    cut_short = replace(BUILD, view="u", epoch=1, rows=None, relations=None)
    found = [
        dict(zip((c.name for c in COLUMNS), r, strict=True)) for r in listed({}, [], str, 3, [cut_short])
    ]
    assert [(r["name"], r["epsilon"], r["charged"]) for r in found] == [
        ("u", Decimal("0.5"), "ceiling of t, lab")
    ]
    assert found[0]["state"] == "build 1 is charged and was not finished"
    assert (found[0]["guarantee"], found[0]["rows"]) == (None, None)


def test_what_has_no_bound_says_so():
    found = row(replace(BUILD, private=False))
    assert str(found["guarantee"]).endswith(UNBOUNDED)
    assert (found["epsilon"], found["charged"]) == (None, None)
