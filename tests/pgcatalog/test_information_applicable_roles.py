from tests.pgcatalog.conftest import Ask


def test_what_the_caller_has(ask: Ask):
    assert ask("SELECT * FROM information_schema.applicable_roles") == [("ana", "analyst", "NO")]
