"""Parameters that are lists: ``x = ANY ($1)``, as drivers send them, becomes ``x = ANY (ARRAY[$1, $2, ...])``.

Likewise ``x = SOME ($1)`` and ``x <> ALL ($1)``. The number of values is known only when they are bound:
the statement is prepared once with one value, for its types, and again with as many as are bound.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from dpproxy.sql.cursor import Cursor
from dpproxy.sql.lexer import TokenKind
from dpproxy.values.errors import InvalidParameter, SyntaxRefused, TooComplex
from dpproxy.values.pgtypes import ARRAYS, SqlType, array_of

MOST_VALUES: Final = 1000
"""The most values of one list."""


class ListParameters(Struct, frozen=True):
    """A statement's list parameters; ``places`` has the start and end of each and the parameter's number."""

    text: str
    places: tuple[tuple[int, int, int], ...]

    @property
    def numbers(self) -> frozenset[int]:
        """The parameters that are lists."""
        return frozenset(number for _, _, number in self.places)

    def element_types(self, types: Sequence[int]) -> list[int]:
        """The declared OIDs, with the element's OID in place of a list's; 0 where that is not known."""
        return [
            oid if n not in self.numbers else ARRAYS[oid].oid if oid in ARRAYS else 0
            for n, oid in enumerate(types, 1)
        ]

    def types(self, elements: Sequence[SqlType]) -> tuple[SqlType, ...]:
        """The parameters' types, from the types of the statement that ``single`` returns."""
        return tuple(array_of(kind) if n in self.numbers else kind for n, kind in enumerate(elements, 1))

    def spread(
        self, values: Sequence[object], types: Sequence[int]
    ) -> tuple[str, tuple[object, ...], list[int]]:
        """The statement, its values and their types, with as many parameters as the lists have elements.

        An empty list equals no value; for a list that is NULL the comparison is NULL. Errors: ``TooComplex``.
        """
        flat, kinds, marks = list(values), self.element_types(types), dict[int, str]()
        for number in sorted(self.numbers):
            listed = _checked(values[number - 1])
            if not listed:
                flat[number - 1] = None
                marks[number] = _UNKNOWN if listed is None else _NONE
                continue
            first, *others = listed
            flat[number - 1] = first
            names = [number, *range(len(flat) + 1, len(flat) + 1 + len(others))]
            marks[number] = _array(f"${name}" for name in names)
            flat += others
            kinds += [kinds[number - 1]] * len(others)
        return self._with_marks(marks), tuple(flat), kinds

    def single(self) -> str:
        """The statement with one value in each list."""
        return self._with_marks({number: _array([f"${number}"]) for number in self.numbers})

    def _with_marks(self, marks: dict[int, str]) -> str:
        written, at = [], 0
        for start, end, number in self.places:
            written += [self.text[at:start], marks[number]]
            at = end
        return "".join([*written, self.text[at:]])


def lists(text: str) -> ListParameters | None:
    """The list parameters of a statement; None where it has none. One that is also used otherwise is not a list."""
    if "$" not in text or not _QUANTIFIER(text):
        return None
    try:
        places, used = _places(Cursor(text))
    except SyntaxRefused:
        return None  # the engine will refuse it, with a better message
    times = Counter(number for _, _, number in places)
    alone = tuple(place for place in places if used[place[2]] == times[place[2]])
    return ListParameters(text, alone) if alone else None


def _places(cursor: Cursor) -> tuple[list[tuple[int, int, int]], Counter[int]]:
    """The places of lists in ``= ANY ($1)`` and the like, and how often each parameter occurs in all."""
    places, used = list[tuple[int, int, int]](), Counter[int]()
    while cursor.token.kind is not TokenKind.END:
        is_list = _accept_quantifier(cursor) and cursor.accept("(")
        token = cursor.take()
        if token.kind is not TokenKind.PARAMETER or len(token.raw) > _LONGEST:
            continue
        number = int(token.raw[1:])
        used[number] += 1
        if is_list and _accept_cast(cursor) and cursor.at(")"):
            places.append((token.position, cursor.before.end, number))
    return places, used


def _accept_quantifier(cursor: Cursor) -> bool:
    """Read ``= ANY``, ``= SOME`` or ``<> ALL``, if they are next."""
    return any(cursor.accept(*words) for words in _QUANTIFIERS)


def _accept_cast(cursor: Cursor) -> bool:
    """Read a cast to an array, if it is next; False where there is another cast."""
    if not cursor.accept("::"):
        return True
    while cursor.token.kind is TokenKind.WORD:
        cursor.take()
    return cursor.accept("[", "]")


_QUANTIFIER: Final = re.compile(r"\b(any|some|all)\b", re.IGNORECASE).search
_QUANTIFIERS: Final = (("=", "any"), ("=", "some"), ("<>", "all"), ("!=", "all"))
_LONGEST: Final = 6
"""The most characters of ``$`` and a parameter's number."""
_NONE: Final = "'{}'"
_UNKNOWN: Final = "ARRAY[NULL]"


def _array(marks: Iterable[str]) -> str:
    return f"ARRAY[{', '.join(marks)}]"


def _checked(value: object) -> list[object] | None:
    if value is None:
        return None
    if not isinstance(value, list) or any(isinstance(item, list) for item in value):
        raise InvalidParameter("a list of values has one dimension", hint="send {1,2} and not {{1},{2}}")
    if len(value) > MOST_VALUES:
        raise TooComplex(f"a list of more than {MOST_VALUES} values", hint="write a range, or fewer values")
    return value
