"""Attacks with allowed expressions that do much work on one person's row only: long texts, patterns, public rows."""

from dpproxy.assurance.model import Attack, Outcome

LETTERS = "é" * 997
"""Two bytes a letter, which take longer to process than one."""


def _mapped(number: int) -> str:
    """A condition: in her row, it puts a text of 998 characters into upper and lower case sixty times; else ""."""
    text = f"CASE WHEN t.{{n}} = {{hi}} THEN '{LETTERS}{number}' ELSE '' END"
    for _ in range(30):
        text = f"upper(lower({text}))"
    return f"{text} <> 'x{number}'"


_MAPPED = " AND ".join(map(_mapped, range(3)))
_MATCHED = " AND ".join(
    f"concat(w.{{pubkey}}, CASE WHEN t.{{n}} = {{hi}} THEN 'x' ELSE 'y' END) NOT LIKE '%b%z{number}%'"
    for number in range(30)
)

_TEXTS = (
    "SELECT count(*) FROM {t} AS t WHERE <mapped>",
    "SELECT count(*) FROM {t} AS t JOIN {pub} AS w ON t.{k} = w.{pubkey} WHERE <mapped>",
    "SELECT count(*) FROM {t} AS t CROSS JOIN {pub} AS w WHERE <mapped> AND w.{pubkey} = t.{k}",
    "SELECT count(*) FROM {t} AS t WHERE EXISTS (SELECT 1 FROM {pub} AS w WHERE <mapped>)",
    "SELECT sum(CASE WHEN <mapped> THEN 1 ELSE 0 END) FROM {t} AS t",
)
_PATTERNS = (
    "SELECT count(*) FROM {t} AS t JOIN {pub} AS w ON t.{k} = w.{pubkey} WHERE <matched>",
    "SELECT count(*) FROM {t} AS t LEFT JOIN {pub} AS w ON t.{k} = w.{pubkey} AND <matched>",
    "SELECT count(*) FROM {t} AS t, {pub} AS w WHERE <matched>",
)

ATTACKS = (
    Attack(
        "long texts on her rows",
        "texts that are long where she is, through sixty functions each, on every public row that hers meets",
        Outcome.PROMISED,
        tuple(text.replace("<mapped>", _MAPPED) for text in _TEXTS),
        timed=True,
    ),
    Attack(
        "patterns on the rows she meets",
        "thirty patterns on each of the public rows that share one value, which nobody but she has",
        Outcome.PROMISED,
        tuple(text.replace("<matched>", _MATCHED) for text in _PATTERNS),
        timed=True,
    ),
)
