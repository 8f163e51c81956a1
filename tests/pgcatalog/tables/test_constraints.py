from collections.abc import Callable


def test_domains_are_checks(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask(
        "SELECT conname, contype, conkey, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) "
        "FROM pg_constraint WHERE conrelid = 'patients'::regclass ORDER BY 1"
    ) == [
        (
            "patients_name_check", "c", [2], "CHECK ((name = ANY (ARRAY['a'::text, 'b'::text])))",
            "CHECK (name = ANY (ARRAY['a'::text, 'b'::text]))",
        ),
    ]  # fmt: skip
    assert ask("SELECT relchecks FROM pg_class WHERE relname = 'patients'") == [(1,)]
    assert ask("SELECT pg_get_constraintdef(1)") == [(None,)]


def test_tables_without_keys_have_none(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT count(*) FROM pg_index") == [(0,)]
    assert ask("SELECT indexname FROM pg_indexes") == []
    assert ask("SELECT pg_get_indexdef(1)") == [(None,)]
