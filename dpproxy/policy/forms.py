"""The forms of the privacy statements, one a line in forms.txt, in the notation of the documentation's grammar."""

from importlib.resources import files
from itertools import takewhile

from dpproxy.sql.lexer import TokenKind, tokens
from dpproxy.values.errors import SyntaxRefused

FORMS = files(__package__).joinpath("forms.txt").read_text(encoding="utf-8").splitlines()
MOST_SHOWN = 3


def form_hint(sql: str) -> str:
    """The forms that begin as a statement does, for whom none of them is what was sent.

    >>> form_hint("CREATE PROTECTED VIEW v AS SELECT 1")
    'Write CREATE PROTECTED VIEW name WITH ( option = value , ... ) AS query'
    """
    words = _words(sql)
    lengths = {form: _agreement(words, form.split()) for form in FORMS}
    nearest = [form for form in FORMS if lengths[form] == max(lengths.values())]
    if len(nearest) > MOST_SHOWN:
        return "Write one of the words that the message names."
    return f"Write {', or '.join(nearest)}"


def _words(sql: str) -> list[str]:
    try:
        return [t.raw.upper() for t in takewhile(lambda t: t.kind is not TokenKind.END, tokens(sql))]
    except SyntaxRefused:
        return []


def _agreement(words: list[str], form: list[str]) -> int:
    """How many of the first words are as in a form: capitals the same, names anything, what is in brackets or not.

    >>> _agreement(["DROP", "PRIVACY", "VIEW"], ["DROP", "PRIVACY", "BUDGET", "name"])
    2
    """
    read = at = 0
    while at < len(form) and read < len(words):
        if form[at] == "[":
            end = form.index("]", at)
            within = _agreement(words[read:], form[at + 1 : end])
            read, at = read + within, end + 1
        elif words[read] == form[at] or form[at].islower():
            read, at = read + 1, at + 1
        else:
            break
    return read
