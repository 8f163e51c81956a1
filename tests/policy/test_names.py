"""Guesses from names."""

from dpproxy.policy.names import is_contact, is_free_text, is_identifier, is_named_after, is_person, words


def test_words():
    assert [words(name) for name in ("l_orderkey", "PatientID", "patientId", "ZIP5", "", "ärzte", "__")] == [
        ["l", "orderkey"], ["patient", "id"], ["patient", "id"], ["zip", "5"], [], ["rzte"], [],
    ]  # fmt: skip


def test_people():
    for name in (
        "patients",
        "Customer",
        "o_custkey",
        "user_id",
        "userid",
        "STUDENT_NO",
        "account_number",
        "new_clients",
    ):
        assert is_person(name), name
    for name in ("orders", "visit_id", "paid", "usage", "user_agent", "patient_visits", "id", "key", ""):
        assert not is_person(name), name


def test_identifiers():
    for name in ("id", "visit_id", "VisitId", "l_orderkey", "row_uuid"):
        assert is_identifier(name), name
    for name in ("paid", "idle", "key_ratio", "monkeys", ""):
        assert not is_identifier(name), name


def test_contacts_and_free_texts():
    assert is_contact("last_name")
    assert is_contact("email")
    assert is_contact("EMail")
    assert not is_contact("town")
    assert is_free_text("doctor_notes")
    assert not is_free_text("noted")


def test_columns_named_after_tables():
    for column, table in (
        ("visit", "visits"),
        ("visit_id", "hospital_visits"),
        ("l_orderkey", "orders"),
        ("RX_NO", "rx"),
    ):
        assert is_named_after(column, table), column
    for column, table in (
        ("visit_cost", "visits"),
        ("id", "visits"),
        ("", "visits"),
        ("visit_id", "patients"),
        ("x", ""),
    ):
        assert not is_named_after(column, table), column
