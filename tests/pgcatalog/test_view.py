from msgspec.structs import replace

from dpproxy.pgcatalog import CatalogueView


def test_settings_do_not_make_another_database(view: CatalogueView):
    assert replace(view, settings={}).key == view.key
    assert replace(view, version=2).key != view.key
    assert replace(view, user="bob").key != view.key


def test_relations_with_their_schemas(view: CatalogueView):
    assert [(schema, relation.name) for schema, relation in view.with_schemas()] == [
        ("public", "patients"),
        ("public", "Odd visits"),
        ("dp", "ledger"),
    ]
