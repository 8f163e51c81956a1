from tests.pgcatalog.conftest import Ask


def test_the_caller_and_the_callers_roles(ask: Ask):
    assert ask("SELECT role_name FROM information_schema.enabled_roles") == [("ana",), ("analyst",)]
