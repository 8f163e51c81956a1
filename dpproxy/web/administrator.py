"""The pages of administrators. The proxy refuses them to others: each page only sends statements and shows answers."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from dpproxy.sql.quoting import identifier, literal, table_text
from dpproxy.web.accounts import Days, budgets, ceilings
from dpproxy.web.answers import as_csv
from dpproxy.web.expected import expected
from dpproxy.web.figures import errors, pictures
from dpproxy.web.logins import Login
from dpproxy.web.site import Form, Page, Site, html, refused_page
from dpproxy.web.wire import Refused, Rows

Record = Mapping[str, str | None]

DAYS: Final = """\
SELECT CAST(at AS date) AS day, ceiling, budget, sum(epsilon) AS spent, sum(rho) AS rho
FROM dp.ledger WHERE kind = 'charge' GROUP BY 1, 2, 3 ORDER BY 1"""
QUESTIONS: Final = """\
SELECT who, what, count(*) AS times, sum(epsilon) AS epsilon, max(at) AS last
FROM dp.ledger WHERE kind = 'charge' GROUP BY who, what ORDER BY 4 DESC LIMIT 25"""
PAGE: Final = 100
"""Entries of the ledger on one page."""
MOST_AUDIT: Final = 1000
SHOWN_AUDIT: Final = 200
"""Entries of the audit log that are searched for one page, and that it shows."""
CHUNK: Final = 2000
"""Entries that are read at a time for a file."""
_FILTERS: Final = ("words", "who", "kind", "budget", "ceiling")


class RefusedHere(Exception):
    """A statement that a page needs was refused."""

    def __init__(self, refused: Refused) -> None:
        self.refused = refused


class Effect(Struct, frozen=True):
    """What a change of the policy means: weaker, stronger or the same."""

    subject: str
    was: str | None
    now: str | None
    effect: str
    meaning: str


def refusing(page: Page) -> Page:
    """A page that is made of statements the proxy may refuse to this user."""

    async def shown(request: Request, login: Login) -> Response:
        try:
            return await page(request, login)
        except RefusedHere as error:
            return refused_page(login, error.refused)

    return shown


async def records(login: Login, sql: str) -> list[dict[str, str | None]]:
    """The rows of a statement. Raises ``RefusedHere``."""
    return (await rows(login, sql)).records()


async def rows(login: Login, sql: str) -> Rows:
    """The answer to a statement. Raises ``RefusedHere``."""
    answer = await login.ask(sql)
    if isinstance(answer, Refused):
        raise RefusedHere(answer)
    return answer


async def budgets_page(_request: Request, login: Login) -> Response:
    """Ceilings with forecasts, budgets with those who spent from them."""
    listed = await records(login, "SHOW PRIVACY BUDGETS")
    days = Days.read(await records(login, DAYS))
    today = datetime.now(UTC).date()
    own = listed, days, today
    return html("budgets.html", login, ceilings=ceilings(*own), budgets=budgets(*own))


async def reset(_request: Request, login: Login, form: Form) -> Response:
    """Let a budget, or one user of it, begin anew."""
    user = f" FOR USER {identifier(form['user'])}" if form.get("user") else ""
    sql = f"RESET PRIVACY BUDGET {identifier(form.get('budget', ''))}{user} REASON {literal(form.get('reason', ''))}"
    answer = await login.ask(sql)
    if isinstance(answer, Refused):
        return refused_page(login, answer)
    return html("done.html", login, here="Budgets", statement=sql, notices=answer.notices, back="/budgets")


async def spending_page(request: Request, login: Login) -> Response:
    """Who spent what on which questions, and the entries of the ledger that a filter leaves."""
    chosen = {name: request.query_params.get(name, "") for name in _FILTERS}
    before = request.query_params.get("before", "")
    entries = await rows(login, entries_sql(chosen, before))
    if "csv" in request.query_params:
        return await exported(login, "ledger", lambda before: entries_sql(chosen, before, CHUNK))
    listed = entries.records()
    older = listed[-1]["sequence"] if len(listed) == PAGE else None
    questions = await records(login, QUESTIONS)
    most = max((float(one["epsilon"] or 0) for one in questions), default=0.0) or 1.0
    return html(
        "spending.html", login, questions=questions, most=most, entries=listed, chosen=chosen, older=older
    )


async def exported(
    login: Login, name: str, sql: Callable[[str], str], keeps: Callable[[Record], bool] = lambda _: True
) -> Response:
    """All entries as a file, newest first, read a part at a time; ``sql`` is the part before a sequence number."""
    first = await rows(login, sql(""))

    async def lines() -> AsyncIterator[str]:
        part, is_first = first, True
        while True:
            kept = [row for row, one in zip(part.rows, part.records(), strict=True) if keeps(one)]
            text = as_csv(replace(part, rows=tuple(kept)))
            yield text if is_first else text.partition("\r\n")[2]
            if len(part.rows) < CHUNK and not part.is_cut:
                return
            part, is_first = await rows(login, sql(part.records()[-1]["sequence"] or "")), False

    own = {"content-disposition": f'attachment; filename="{name}.csv"'}
    return StreamingResponse(lines(), media_type="text/csv", headers=own)


def entries_sql(chosen: Mapping[str, str], before: str, most: int = PAGE) -> str:
    """The statement for the entries of the ledger that a filter leaves.

    >>> entries_sql({"who": "o'neill"}, "12")
    "SELECT * FROM dp.ledger WHERE who = 'o''neill' AND sequence < 12 ORDER BY sequence DESC LIMIT 100"
    """
    conditions = [f"{name} = {literal(value)}" for name, value in chosen.items() if value and name != "words"]
    if words := chosen.get("words"):
        conditions.append(f"strpos(lower(concat(what, ' ', reason)), {literal(words.lower())}) > 0")
    conditions += [f"sequence < {before}"] if before.isascii() and before.isdigit() else []
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT * FROM dp.ledger{where} ORDER BY sequence DESC LIMIT {most}"  # noqa: S608 - quoted above


async def policy_page(request: Request, login: Login) -> Response:
    """The tables of the policy, or what is declared of one, and a place to change it."""
    table = request.query_params.get("table", "")
    declared = [one for one in await records(login, "SHOW PRIVACY POLICY") if table in ("", one["table"])]
    served = {one["table"]: one for one in await records(login, "SHOW PRIVACY TABLES")}
    grants = [one for one in await records(login, "SHOW PRIVACY GRANTS") if table in ("", one["table"])]
    suggested = await login.ask(f"SUGGEST PRIVACY FOR {table_text(table)}") if table else None
    limits = await records(login, "SHOW PRIVACY BUDGETS") if table else []
    tables: dict[str, list[dict[str, str | None]]] = {}
    for one in declared:
        tables.setdefault(one["table"] or "", []).append(one)
    return html(
        "policy.html",
        login,
        table=table,
        tables=tables,
        own=served.get(table),
        hidden=[] if table else [one for name, one in served.items() if name not in tables],
        grants=grants,
        expected=await expected(login, table, declared, grants, limits) if table else [],
        suggested=suggested.records() if isinstance(suggested, Rows) else [],
        statement=request.query_params.get("statement", ""),
    )


async def change(_request: Request, login: Login, form: Form) -> Response:
    """Show what a statement would change, or make the change."""
    statement = form.get("statement", "").strip().removesuffix(";")
    if "apply" in form:
        outcome = await login.run(statement)
        if isinstance(outcome.result, Rows):
            notices = outcome.result.notices
            return html(
                "done.html", login, here="Policy", statement=statement, notices=notices, back="/policy"
            )
        return html("change.html", login, statement=statement, refused=outcome.result, effects=[], notices=())
    found = await effects_of(login, statement)
    if isinstance(found, Refused):
        return html("change.html", login, statement=statement, refused=found, effects=[], notices=())
    effects, answer = found
    return html(
        "change.html", login, statement=statement, refused=None, effects=effects, notices=answer.notices
    )


_PREVIEW: Final = "EXPLAIN (PRIVACY, FORMAT JSON) "


async def effects_of(login: Login, statement: str) -> tuple[list[Effect], Rows] | Refused:
    """What a statement would change of the policy, in the words of ``policy diff``."""
    answer = await login.ask(_PREVIEW + statement)
    if isinstance(answer, Refused):
        at = None if answer.position is None else max(0, answer.position - len(_PREVIEW))
        return Refused(answer.sqlstate, answer.message, answer.detail, answer.hint, at)
    document = json.loads(answer.rows[0][0] or "[]")
    if not isinstance(document, list):  # a question, whose price is not asked for here
        return Refused("42601", "this statement changes nothing of the policy", position=0)
    return [Effect(**one) for one in document], answer


async def views_page(request: Request, login: Login) -> Response:
    """Protected views and cubes, and the figures of those that are asked for as pictures."""
    names = list(dict.fromkeys(name for name in request.query_params.getlist("verify") if name))
    views = await records(login, "SHOW PRIVACY VIEWS")
    cubes = {one["name"] for one in views if (one["declaration"] or "").startswith("CREATE PRIVACY CUBE")}
    chosen = {
        "PROTECTED VIEW": [name for name in names if name not in cubes],
        "PRIVACY CUBE": [name for name in names if name in cubes],
    }
    answers = [
        await rows(login, f"VERIFY {kind} {', '.join(map(identifier, some))}")
        for kind, some in chosen.items()
        if some
    ]
    verified = [one for answer in answers for one in answer.records()]
    drawn, unseen = pictures(verified), []
    for cube in chosen["PRIVACY CUBE"]:
        found = await login.ask(f"SELECT * FROM {identifier(f'{cube}_errors')}")  # noqa: S608 - quoted
        if isinstance(found, Rows):
            drawn += errors(cube, found.records())
        else:
            unseen.append(cube)
    return html(
        "views.html",
        login,
        views=views,
        verified=verified,
        pictures=drawn,
        chosen=names,
        unseen=unseen,
        notices=[notice for answer in answers for notice in answer.notices],
    )


async def audit_page(request: Request, login: Login) -> Response:
    """The audit log, newest first, filtered by words, user and outcome, or all of it as a file."""
    chosen = {name: request.query_params.get(name, "") for name in ("words", "user", "outcome")}
    if "csv" in request.query_params:
        return await exported(
            login, "audit", lambda before: audit_sql(before, CHUNK), lambda one: _is_chosen(one, chosen)
        )
    found = await records(login, audit_sql(request.query_params.get("before", ""), MOST_AUDIT))
    kept = [one for one in found if _is_chosen(one, chosen)]
    return html(
        "audit.html",
        login,
        entries=kept[:SHOWN_AUDIT],
        found=len(found),
        older=found[-1]["sequence"] if len(found) == MOST_AUDIT else None,
        total=len(kept),
        chosen=chosen,
        outcomes=sorted({one["outcome"] or "" for one in found}),
    )


def audit_sql(before: str, most: int) -> str:
    """The statement for a part of the audit log.

    >>> audit_sql("7", 5), audit_sql("7; DROP", 5)
    ('SHOW PRIVACY AUDIT BEFORE 7 LIMIT 5', 'SHOW PRIVACY AUDIT LIMIT 5')
    """
    is_number = before.isascii() and before.isdigit() and int(before) > 0
    return f"SHOW PRIVACY AUDIT {f'BEFORE {before} ' if is_number else ''}LIMIT {most}"


def _is_chosen(one: Record, chosen: Mapping[str, str]) -> bool:
    words = " ".join(filter(None, (one["user"], one["statement"], one["reason"]))).lower()
    same = all(chosen[name] in ("", one[name]) for name in ("user", "outcome"))
    return same and chosen["words"].lower() in words


async def health_page(_request: Request, login: Login) -> Response:
    """Data sources, what this one rests on, and what is being prepared."""
    kinds = {
        "jobs": ("table", "view"),
        "sources": ("source",),
        "others": ("policy", "ledger", "sessions", "tables"),
    }
    listed = await records(login, "SHOW PRIVACY STATUS")
    parts = {name: [one for one in listed if one["kind"] in kept] for name, kept in kinds.items()}
    return html("health.html", login, 200, **parts)


def routes(site: Site) -> list[Route]:
    """The addresses of these pages."""
    pages = (
        ("/budgets", budgets_page),
        ("/spending", spending_page),
        ("/policy", policy_page),
        ("/views", views_page),
        ("/audit", audit_page),
        ("/health", health_page),
    )

    return [
        *(site.page(path, refusing(page)) for path, page in pages),
        site.action("/reset", reset),
        site.action("/policy", change),
    ]
