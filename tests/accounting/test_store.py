import sqlite3

from dpproxy.accounting.store import first_line


def test_a_fault_is_told_in_one_line():
    assert first_line(sqlite3.OperationalError("database is locked")) == "database is locked"
    assert first_line(OSError("first\nsecond")) == "first"
    assert first_line(OSError()) == "OSError"
