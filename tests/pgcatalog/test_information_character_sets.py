from tests.pgcatalog.conftest import Ask


def test_texts_are_unicode(ask: Ask):
    """Power BI asks before all else."""
    asked = "SELECT character_set_name, default_collate_catalog FROM information_schema.character_sets"
    assert ask(asked) == [("UTF8", "main")]
