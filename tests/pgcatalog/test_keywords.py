"""Words that clients quote."""

from dpproxy.pgcatalog.keywords import _words


def test_the_words_are_postgresqls():
    found = dict(_words())
    assert found["select"] == "reserved"
    assert found["abort"] == "unreserved"
    assert found["left"] == "type_function"
    assert found["between"] == "column_name"
    assert len(found) > 400
