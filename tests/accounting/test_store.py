import sqlite3

from dpproxy.accounting.store import told


def test_a_fault_is_told_in_one_line():
    assert told(sqlite3.OperationalError("database is locked")) == "database is locked"
    assert told(OSError("first\nsecond")) == "first"
    assert told(OSError()) == "OSError"
