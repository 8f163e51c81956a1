import pytest

from dpproxy.pgcatalog import Catalogue, CatalogueView
from dpproxy.pgcatalog.moments import engine_zone
from dpproxy.sql import grammar
from dpproxy.values.errors import Unsupported


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("UTC", "UTC"),
        ("europe/berlin", "Europe/Berlin"),
        ("2", "Etc/GMT-2"),
        ("UTC+3", "Etc/GMT+3"),
        ("5.5", None),
        ("-13", None),
    ],
)
def test_zones(name: str, zone: str | None):
    assert engine_zone({"timezone": name}) == zone


def test_moments_are_not_computed_with_where_the_engine_has_no_such_zone(catalogue: Catalogue):
    view = CatalogueView("main", "ana", (), (), {"timezone": "5.5"}, 1)
    assert list(catalogue.run(view, grammar.parse("SELECT 1")[0], (), {}).rows) == [(1,)]
    with pytest.raises(Unsupported) as caught:
        catalogue.run(view, grammar.parse("SELECT now()::text")[0], (), {})
    assert caught.value.hint is not None
