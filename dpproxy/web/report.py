"""The report on who protects what from whom, and what was released: for people who need no mathematics to read it."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dpproxy.web.administrator import refusing, rows
from dpproxy.web.logins import Login
from dpproxy.web.site import STATIC, TEMPLATES, Site

Record = Mapping[str, object]

STATEMENTS: Final[Mapping[str, str]] = {
    "policy": "SHOW PRIVACY POLICY",
    "budgets": "SHOW PRIVACY BUDGETS",
    "grants": "SHOW PRIVACY GRANTS",
    "views": "SHOW PRIVACY VIEWS",
    "released": """\
SELECT ceiling, what, count(*) AS times, sum(epsilon) AS epsilon, min(at) AS first, max(at) AS last
FROM dp.ledger WHERE kind <> 'reset' GROUP BY ceiling, what ORDER BY 4 DESC""",
}
"""What a report is made of, by name; all of it is for administrators."""
_UNIT = re.compile(r"KEY(?: ROW| \((?P<key>.*?)\)(?: REFERENCES (?P<of>.*?) \()?)", re.DOTALL)
_QUOTED: Final = re.compile(r"""'[^']*'|"[^"]*\"""")
_CALL: Final = re.compile(r"\b([a-z_][a-z0-9_]*)\(")
_NAME: Final = re.compile(r"\w+")
PUBLIC: Final = "/transparency"
PUBLISHED: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
"""What the published report may do: have its own style."""
MOST_KINDS: Final = 100
"""Kinds of questions that are listed, those that cost most; the others are counted."""


class Kind(Struct, frozen=True):
    """A kind of question: which aggregates by which columns of which tables, and what it cost altogether."""

    what: str
    times: int
    epsilon: float


class People(Struct, frozen=True):
    """Those who are protected together by one ceiling, and what was released about them."""

    table: str
    unit: str
    tables: tuple[str, ...]
    roles: tuple[str, ...]
    exact: tuple[str, ...]
    """Roles that may see rows."""
    limit: float | None
    spent: float
    delta: float
    kinds: tuple[Kind, ...]
    more: int
    """Kinds of questions that are not listed."""
    answers: int
    first: str | None
    last: str | None
    shared: tuple[str, ...]
    """Budgets of which each user reads what all have paid for."""

    @property
    def sure_now(self) -> float:
        """How sure anybody can be of one person's presence after what was released, in percent."""
        return sureness(self.spent)

    @property
    def sure_at_most(self) -> float | None:
        """The same after all that may ever be released."""
        return None if self.limit is None else sureness(self.limit)


class Report(Struct, frozen=True):
    """Everything that a report says."""

    at: str
    people: tuple[People, ...]
    public: tuple[str, ...]
    views: tuple[Record, ...]


def sureness(epsilon: float) -> float:
    """How sure somebody can become, in percent, who thought it was an even chance.

    >>> round(sureness(0), 1), round(sureness(1), 1)
    (50.0, 73.1)
    """
    return 100 / (1 + math.exp(-epsilon))


def percent(value: float) -> str:
    """A percentage that never claims to be whole.

    >>> percent(52.49), percent(73.1), percent(99.97)
    ('52.5 %', '73.1 %', 'more than 99.9 %')
    """
    return "more than 99.9 %" if value > 99.9 else f"{math.ceil(value * 10 - 1e-9) / 10:g} %"


def report(found: Mapping[str, Sequence[Record]], at: datetime) -> Report:
    """The report that the answers to ``STATEMENTS`` make."""
    units = {
        str(one["table"]): match
        for one in found["policy"]
        if not one["column"] and (match := _UNIT.match(str(one["declaration"])))
    }
    ceilings = {str(one["name"]): one for one in found["budgets"] if one["kind"] == "ceiling"}
    owners = {table: _owner(table, units) for table in units}
    people = [
        _people(owner, units[owner], [t for t in units if owners[t] == owner], ceilings.get(owner), found)
        for owner in sorted(set(owners.values()))
    ]
    public = [
        str(one["table"]) for one in found["policy"] if not one["column"] and one["declaration"] == "PUBLIC"
    ]
    return Report(at.strftime("%Y-%m-%d %H:%M UTC"), tuple(people), tuple(public), tuple(found["views"]))


def _owner(table: str, units: Mapping[str, re.Match[str]]) -> str:
    """The unit's own table, which a chain of references ends in."""
    seen = {table}
    while (of := (units[table]["of"] or "").strip('"')) in units and of not in seen:
        table = of
        seen.add(of)
    return table


def _people(
    owner: str,
    unit: re.Match[str],
    tables: list[str],
    ceiling: Record | None,
    found: Mapping[str, Sequence[Record]],
) -> People:
    released = [one for one in found["released"] if one["ceiling"] == owner]
    kinds = _kinds(released, {str(one[name]) for one in found["policy"] for name in ("table", "column")})
    of = [one for one in found["grants"] if str(one["table"]) in tables]
    row = ceiling or {}
    return People(
        owner,
        f"all rows of one {unit['key']}" if unit["key"] else "each single row",
        tuple(tables),
        _roles(of, "SELECT"),
        _roles(of, "EXACT SELECT"),
        None if ceiling is None else _number(row.get("limit_epsilon")),
        _number(row.get("spent")),
        _number(row.get("delta")),
        tuple(kinds[:MOST_KINDS]),
        max(0, len(kinds) - MOST_KINDS),
        sum(kind.times for kind in kinds),
        min((str(one["first"])[:10] for one in released), default=None),
        max((str(one["last"])[:10] for one in released), default=None),
        _shared({one["budget"] for one in of}, found["budgets"]),
    )


def _kinds(released: Sequence[Record], declared: Collection[str]) -> list[Kind]:
    """The kinds of what was released, the dearest first."""
    found: dict[str, Kind] = {}
    for one in released:
        what = kind_of(str(one["what"]), declared)
        before = found.get(what, Kind(what, 0, 0.0))
        found[what] = Kind(
            what, before.times + _whole(one["times"]), before.epsilon + _number(one["epsilon"])
        )
    return sorted(found.values(), key=lambda kind: -kind.epsilon)


def kind_of(what: str, declared: Collection[str]) -> str:
    """What a charge was for without anything that an analyst has written: names of the policy and of functions alone.

    >>> kind_of("sum(case when age = 33 then cost end), count(*) by ward on visits", {"ward", "cost", "visits"})
    'sum, count by ward on visits'
    """
    if what.startswith(("protected view ", "privacy cube ")):
        return what
    return "; ".join(dict.fromkeys(_kind_of_part(part, declared) for part in what.split("; ")))


def _kind_of_part(part: str, declared: Collection[str]) -> str:
    head, _, tables = part.rpartition(" on ")
    calls, by, keys = head.rpartition(" by ")
    if not by or keys.count(")") > keys.count("("):  # it stands inside a call
        calls, keys = head, ""
    called = dict.fromkeys(name for name in _CALL.findall(_outside(calls)) if name != "filter")
    functions = ", ".join(called) or "keys"
    columns, names = (", ".join(n for n in _NAME.findall(text) if n in declared) for text in (keys, tables))
    return f"{functions}{f' by {columns}' if columns else ''} on {names or 'public rows'}"


def _outside(calls: str) -> str:
    """Calls without what stands in their parentheses."""
    kept, depth = "", 0
    for mark in _QUOTED.sub("", calls):
        depth -= mark == ")"
        kept += mark * (depth == 0)
        depth += mark == "("
    return kept


def _roles(grants: Iterable[Record], privilege: str) -> tuple[str, ...]:
    return tuple(sorted({str(one["role"]) for one in grants if one["privilege"] == privilege}))


def _shared(paying: Collection[object], budgets: Iterable[Record]) -> tuple[str, ...]:
    """With their limits."""
    shown = (one for one in budgets if one["kind"] == "budget" and one.get("shares_releases") == "t")
    return tuple(f"{one['name']} (ε {one['limit_epsilon']})" for one in shown if one["name"] in paying)


def _number(value: object) -> float:
    return 0.0 if value is None else float(str(value))


def _whole(value: object) -> int:
    return int(str(value))


def as_html(found: Report, login: Login | None) -> str:
    """The report as a page: of the site where there is a login, otherwise as a file that needs no other."""
    style = STATIC["page.css"][0].decode() if login is None else ""
    return TEMPLATES.get_template("report.html").render(
        login=login, report=found, style=style, percent=percent
    )


async def report_page(request: Request, login: Login) -> Response:
    """The report, on the site or as a file."""
    answers = {name: (await rows(login, sql)).records() for name, sql in STATEMENTS.items()}
    made = report(answers, datetime.now(UTC))
    if "file" not in request.query_params:
        return Response(as_html(made, login), media_type="text/html")
    own = {"content-disposition": 'attachment; filename="report.html"'}
    return Response(as_html(made, None), media_type="text/html", headers=own)


def routes(site: Site) -> list[Route]:
    """The addresses of the report: the one that is made now, and the one that administrators have published."""

    def published(_request: Request) -> Response:
        """The file as it is, for everybody; nothing in it can run."""
        try:
            text = Path(site.options.report or "").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise HTTPException(404, "No report is published here.") from None
        headers = {"content-security-policy": PUBLISHED, "cache-control": "no-cache"}
        return Response(text, media_type="text/html", headers=headers)

    return [
        site.page("/report", refusing(report_page)),
        Route(PUBLIC, published, methods=["GET"], name="transparency"),
    ]
