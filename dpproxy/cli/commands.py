"""The table of all commands, which imports nothing that they run."""

from fractions import Fraction
from pathlib import Path
from typing import Final

from dpproxy.terminal.arguments import CONFIG, DATABASE, JSON, PASSWORD, Command, Option, option
from dpproxy.terminal.completion import SHELLS


def exactly(text: str) -> Fraction:
    """A decimal number. Errors: ValueError."""
    from dpproxy.config.setting_checks import decimal  # noqa: PLC0415 - slow to import

    return decimal(text)


def port(text: str) -> int:
    """A TCP port. Errors: ValueError."""
    if not 0 <= int(text) <= 65535:
        raise ValueError(text)
    return int(text)


USER: Final[Option] = option("name", "what the user logs in as", metavar="NAME")
SOURCE: Final[tuple[Option, ...]] = (CONFIG, DATABASE, JSON)
"""Of a command about one data source."""
ROLES: Final[Option] = option(
    "--role",
    "admin, or a name that GRANT knows; may be given again",
    action="append",
    required=True,
    metavar="ROLE",
)
COMMANDS: Final[tuple[Command, ...]] = (
    Command(
        "init",
        "write a configuration, a draft of a policy for all tables, and an administrator, to begin with",
        "dpproxy init postgresql://dpproxy:secret@localhost:5432/clinic",
        (
            option("source", "a directory, a DuckDB file, or a postgresql:// URL", metavar="SOURCE"),
            option("--directory", "where to write (default: here)", type=Path, default=Path(), metavar="DIR"),
            option(
                "--schema",
                "of PostgreSQL (default: the one of the role, or with most tables)",
                metavar="NAME",
            ),
            option("--admin", "the administrator (default: root)", metavar="USER", default="root"),
            PASSWORD,
        ),
        "cli.init:init",
    ),
    Command(
        "preview",
        "print the errors that answers will have under the configured policy files; nothing is spent or changed",
        "dpproxy preview --config dpproxy.toml",
        SOURCE,
        "cli.preview:preview",
    ),
    Command(
        "serve",
        "answer clients over the PostgreSQL protocol until SIGTERM",
        "dpproxy serve --config dpproxy.toml",
        (CONFIG,),
        "cli.serve:serve",
    ),
    Command(
        "demo",
        "show a tour over the example data, or keep its server running",
        "dpproxy demo --serve --port 6432",
        (
            option("--serve", "no tour: print one URL per role and keep running", action="store_true"),
            option("--port", "with --serve (default: a free one)", type=port, default=0, metavar="N"),
        ),
        "cli.demo:command",
    ),
    Command(
        "user add",
        "add a user, or replace one's roles and password",
        "dpproxy user add ann --role analyst --config dpproxy.toml",
        (USER, ROLES, CONFIG, PASSWORD),
        "cli.user:add",
    ),
    Command(
        "user list",
        "print all users with their roles",
        "dpproxy user list --config dpproxy.toml",
        (CONFIG, JSON),
        "cli.user:list_all",
    ),
    Command(
        "user remove",
        "remove a user; what was spent stays spent",
        "dpproxy user remove ann --config dpproxy.toml",
        (USER, CONFIG),
        "cli.user:remove",
    ),
    Command(
        "user passwd",
        "set another password for a user",
        "dpproxy user passwd ann --config dpproxy.toml",
        (USER, CONFIG, PASSWORD),
        "cli.user:passwd",
    ),
    Command(
        "user roles",
        "give a user these roles in place of the present ones",
        "dpproxy user roles ann --role analyst --role dpo --config dpproxy.toml",
        (USER, ROLES, CONFIG),
        "cli.user:roles",
    ),
    Command(
        "check",
        "find mistakes in a configuration (.toml) or a policy (.sql), with positions; exit status 2 if there are any",
        "dpproxy check policy/10_adult.sql",
        (option("file", "a .toml or .sql file", metavar="FILE", type=Path), JSON),
        "cli.policy:check",
    ),
    Command(
        "policy dump",
        "print the policy in force as statements that make it again",
        "dpproxy policy dump --config dpproxy.toml > policy/all.sql",
        SOURCE,
        "cli.policy:dump",
    ),
    Command(
        "policy diff",
        "print what policy files would change of the policy in force, and what that does to guarantees and budgets",
        "dpproxy policy diff policy/20_research.sql --config dpproxy.toml",
        (
            option(
                "file", "policy files (default: the configured ones)", metavar="FILE", type=Path, nargs="*"
            ),
            *SOURCE,
        ),
        "cli.policy:diff",
    ),
    Command(
        "policy apply",
        "apply the configured policy files, also where they weaken the policy in force, which no start does",
        "dpproxy policy apply --config dpproxy.toml",
        SOURCE,
        "cli.policy:apply",
    ),
    Command(
        "explain",
        "print the price and the expected error of statements; nothing is spent",
        "dpproxy explain 'SELECT sex, count(*) FROM adult GROUP BY sex' --config dpproxy.toml",
        (
            option("sql", "one SELECT, or a file of several (.sql)", metavar="SQL"),
            option("--budget", "an epsilon to split among them", metavar="E", type=exactly),
            option("--verbose", "with what is run", action="store_true"),
            JSON,
            CONFIG,
            DATABASE,
            option("--role", "who asks (default: every role with a grant)", action="append", metavar="ROLE"),
        ),
        "cli.budget:explain",
    ),
    Command(
        "budget show",
        "print limits, what was spent of them and by whom",
        "dpproxy budget show --config dpproxy.toml",
        SOURCE,
        "cli.budget:show",
    ),
    Command(
        "report",
        "write who protects what from whom, and what was released, as a page for people without mathematics",
        "dpproxy report --output report.html --config dpproxy.toml",
        (
            CONFIG,
            DATABASE,
            option("--output", "the HTML file (default: stdout)", type=Path, metavar="FILE"),
        ),
        "cli.report:command",
    ),
    Command(
        "budget reset",
        "let a budget, or one user of it, begin anew; the ceilings of its tables never do",
        "dpproxy budget reset research --user ann --reason 'a mistaken query' --config dpproxy.toml",
        (
            option("name", "the budget", metavar="NAME"),
            option("--user", "one user of it alone", metavar="USER"),
            option("--reason", "why; the ledger keeps it", metavar="TEXT", required=True),
            *SOURCE,
        ),
        "cli.budget:reset",
    ),
    Command(
        "view build",
        "build a protected view anew, and charge it anew; progress goes to stderr",
        "dpproxy view build patients_dp --config dpproxy.toml",
        (option("name", "the view, as the policy declares it", metavar="NAME"), *SOURCE),
        "cli.view:build",
    ),
    Command(
        "view list",
        "print every protected view with its state, price and guarantee",
        "dpproxy view list --config dpproxy.toml",
        SOURCE,
        "cli.view:list_all",
    ),
    Command(
        "view verify",
        "print what protected views promise, side by side; exact figures for a role with EXACT SELECT alone",
        "dpproxy view verify patients_dp patients_k --role dpo --config dpproxy.toml",
        (
            option("name", "the views", metavar="NAME", nargs="+"),
            option("--role", "look as this role, too; it is on record", metavar="ROLE", action="append"),
            *SOURCE,
        ),
        "cli.view:verify",
    ),
    Command(
        "ledger verify",
        "check every entry of the ledger against its key, and that nothing was rolled back",
        "dpproxy ledger verify --config dpproxy.toml",
        (
            CONFIG,
            DATABASE,
            option("--file", "check a backup of it instead", metavar="BACKUP", type=Path),
            JSON,
        ),
        "cli.ledger:verify",
    ),
    Command(
        "ledger export",
        "print all entries of the ledger, once they are verified",
        "dpproxy ledger export --format json --output ledger.json --config dpproxy.toml",
        (
            CONFIG,
            DATABASE,
            option("--format", "csv (default) or json", choices=("csv", "json"), default="csv"),
            option("--output", "a file (default: stdout)", metavar="FILE", type=Path),
            option("--json", "the same as --format json", action="store_true"),
        ),
        "cli.ledger:export",
    ),
    Command(
        "ledger backup",
        "copy the ledger to a new file while proxies serve from it, and verify the copy",
        "dpproxy ledger backup /backup/ledger-2026-11-21.sqlite --config dpproxy.toml",
        (option("file", "the file to make", metavar="FILE", type=Path), *SOURCE),
        "cli.ledger:back_up",
    ),
    Command(
        "ledger archive",
        "move old entries to a new file; sums, chain and what can be asked again stay",
        "dpproxy ledger archive /backup/ledger-to-2026.sqlite --before 2026-01-01 --config dpproxy.toml",
        (
            option("file", "the file to make", metavar="FILE", type=Path),
            option("--before", "entries of before this day (UTC) leave", metavar="DATE", required=True),
            *SOURCE,
        ),
        "cli.ledger:archive",
    ),
    Command(
        "ledger mark",
        "make the high-water mark anew at what the ledger holds; spending beyond that is forgotten for good",
        "dpproxy ledger mark --config dpproxy.toml",
        SOURCE,
        "cli.ledger:mark",
    ),
    Command(
        "backup",
        "copy the state of all data sources, and the users, to a new directory while proxies serve",
        "dpproxy backup /backup/dpproxy-2026-11-21 --config dpproxy.toml",
        (option("directory", "the directory to make", metavar="DIR", type=Path), CONFIG),
        "cli.state:backup",
    ),
    Command(
        "restore",
        "put a backup back where there is no state; exit status 1 where its ledger is behind its high-water mark",
        "dpproxy restore /backup/dpproxy-2026-11-21 --config dpproxy.toml",
        (
            option("directory", "what dpproxy backup has made", metavar="DIR", type=Path),
            CONFIG,
            option("--database", "this data source alone (default: all)", metavar="NAME"),
        ),
        "cli.state:restore",
    ),
    Command(
        "health",
        "ask the proxy of a configuration whether it answers; exit status 1 where it does not",
        "dpproxy health --config dpproxy.toml",
        (CONFIG,),
        "cli.state:health",
    ),
    Command(
        "completion",
        "print what a shell reads to complete commands and options",
        "dpproxy completion bash >> ~/.bashrc",
        (option("shell", "bash or zsh", choices=SHELLS),),
        "cli.completion:command",
    ),
    Command(
        "selftest",
        "try every attack on made-up people under your own policy; exit status 1 where a promise is not kept",
        "dpproxy selftest --config dpproxy.toml",
        (
            *SOURCE,
            option(
                "--runs",
                "samples of each side, 0 for none (default: 100)",
                type=int,
                default=100,
                metavar="N",
            ),
        ),
        "assurance.selftest:selftest",
    ),
    Command(
        "log verify",
        "check every entry of the audit log against its key; a proxy may be running",
        "dpproxy log verify --config dpproxy.toml",
        (CONFIG, DATABASE),
        "cli.ledger:log_verify",
    ),
    Command(
        "audit",
        "bound epsilon from below by answers of proxies that differ by one person; exit status 1 above the promise",
        "dpproxy audit --epsilon 1 --runs 100",
        (
            option(
                "url", "two proxies (default: two of its own over made-up data)", metavar="URL", nargs="*"
            ),
            option(
                "--sql",
                "what to ask (default: every aggregate; may be given again)",
                metavar="SQL",
                action="append",
            ),
            option(
                "--epsilon",
                "the promise for one statement (default: 1)",
                type=exactly,
                default="1",
                metavar="E",
            ),
            option("--runs", "how often to ask each side (default: 100)", type=int, default=100, metavar="N"),
        ),
        "assurance.audit:command",
    ),
)
