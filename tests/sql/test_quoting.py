from dpproxy.sql.quoting import RESERVED, identifier, literal, quoted


def test_names_are_quoted_where_they_have_to_be():
    assert [identifier(n) for n in ("city", "City", "select", 'a"b', "1st", "a b")] == [
        "city", '"City"', '"select"', '"a""b"', '"1st"', '"a b"',
    ]  # fmt: skip
    assert all(identifier(word) == quoted(word) for word in RESERVED)


def test_quotes_are_doubled():
    assert quoted('a"b') == '"a""b"'
    assert literal("it's") == "'it''s'"
