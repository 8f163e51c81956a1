from collections.abc import Callable


def test_domains_and_not_null_are_checks(ask: Callable[..., list[tuple[object, ...]]]):
    own = "constraint_schema = 'public'"
    asked = f"SELECT check_clause FROM information_schema.check_constraints WHERE {own} ORDER BY 1"
    assert ask(asked) == [("((name = ANY (ARRAY['a'::text, 'b'::text])))",), ("id IS NOT NULL",)]
    assert ask("SELECT column_name FROM information_schema.constraint_column_usage") == [("name",)]
