"""Guesses from English names of tables and columns, used only in proposals that an administrator reads."""

import re

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_KEY = re.compile(r"(id|key|uuid|guid|no|nr|num|number|code)$")
_PEOPLE = frozenset({
    "account", "applicant", "beneficiary", "child", "citizen", "client", "contact", "cust", "customer", "donor",
    "driver", "employee", "guest", "holder", "household", "individual", "insured", "learner", "member", "parent",
    "participant", "passenger", "patient", "people", "person", "player", "provider", "pupil", "resident", "respondent",
    "staff", "student", "subject", "subscriber", "taxpayer", "tenant", "user", "visitor", "voter", "worker",
})  # fmt: skip
_IDENTIFIERS = frozenset({"id", "key", "uuid", "guid"})
_CONTACTS = frozenset({
    "address", "email", "firstname", "forename", "iban", "ip", "lastname", "login", "mail", "mobile", "name",
    "passport", "phone", "ssn", "street", "surname", "telephone", "username",
})  # fmt: skip
_FREE_TEXTS = frozenset({
    "body", "comment", "comments", "description", "details", "memo", "message", "note", "notes", "remark", "remarks",
    "text",
})  # fmt: skip


def words(name: str) -> list[str]:
    """The words of a name, in lower case.

    >>> words("l_orderkey"), words("PatientID"), words("zip5")
    (['l', 'orderkey'], ['patient', 'id'], ['zip', '5'])
    """
    return [word.lower() for word in _WORD.findall(name)]


def is_person(name: str) -> bool:
    """Whether a table is named after people, or a column like an identifier of people.

    >>> [is_person(name) for name in ("insured_patients", "o_custkey", "USER_ID", "patient_visits", "user_agent")]
    [True, True, True, False, False]
    """
    found = words(name)
    if len(found) > 1 and _KEY.fullmatch(found[-1]):
        found.pop()
    return bool(found) and not _PEOPLE.isdisjoint(_forms(found[-1]))


def is_named_after(column: str, table: str) -> bool:
    """Whether a column is named like the identifier of a given table's rows.

    >>> [is_named_after(name, "hospital_visits") for name in ("visit_id", "VisitNo", "visit", "visit_cost", "id")]
    [True, True, True, False, False]
    """
    found, of = words(column), words(table)
    if len(found) > 1 and _KEY.fullmatch(found[-1]):
        found.pop()
    if not found or not of or found[-1] in _IDENTIFIERS:
        return False
    return not (_forms(found[-1]) - {""}).isdisjoint(_forms(of[-1]))


def is_identifier(name: str) -> bool:
    """Whether a column is named like an identifier.

    >>> [is_identifier(name) for name in ("visit_id", "l_orderkey", "id", "paid", "monkey_bars")]
    [True, True, True, False, False]
    """
    last = words(name)[-1:]
    return bool(last) and (last[0] in _IDENTIFIERS or last[0].endswith("key"))


def is_contact(name: str) -> bool:
    """Whether a column is named like a person's name or address."""
    return not _CONTACTS.isdisjoint(words(name))


def is_free_text(name: str) -> bool:
    """Whether a column is named like free text."""
    return not _FREE_TEXTS.isdisjoint(words(name))


def _forms(word: str) -> set[str]:
    """The word, without an ending that says key, and in the singular."""
    stem = _KEY.sub("", word)
    return {word, stem, word.removesuffix("s"), stem.removesuffix("s")}
