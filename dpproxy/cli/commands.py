"""The table of all commands, which imports nothing that they run."""

from fractions import Fraction
from pathlib import Path
from typing import Final

from dpproxy.terminal.arguments import CONFIG, DATABASE, JSON, PASSWORD, Command, Option
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


USER: Final[Option] = (("name",), {"metavar": "NAME", "help": "what the user logs in as"})
ROLES: Final[Option] = (
    ("--role",),
    {
        "action": "append",
        "required": True,
        "metavar": "ROLE",
        "help": "admin, or a name that GRANT knows; may be given again",
    },
)
COMMANDS: Final[tuple[Command, ...]] = (
    Command(
        "init",
        "write a configuration, a draft of a policy for all tables, and an administrator, to begin with",
        "dpproxy init postgresql://dpproxy:secret@localhost:5432/clinic",
        (
            (
                ("source",),
                {"metavar": "SOURCE", "help": "a directory, a DuckDB file, or a postgresql:// URL"},
            ),
            (
                ("--directory",),
                {"type": Path, "default": Path(), "metavar": "DIR", "help": "where to write (default: here)"},
            ),
            (
                ("--schema",),
                {
                    "metavar": "NAME",
                    "help": "of PostgreSQL (default: the one of the role, or with most tables)",
                },
            ),
            (
                ("--admin",),
                {"metavar": "USER", "default": "root", "help": "the administrator (default: root)"},
            ),
            PASSWORD,
        ),
        "cli.init:init",
    ),
    Command(
        "preview",
        "print the errors that answers will have under the configured policy files; nothing is spent or changed",
        "dpproxy preview --config dpproxy.toml",
        (CONFIG, DATABASE, JSON),
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
            (
                ("--serve",),
                {"action": "store_true", "help": "no tour: print one URL per role and keep running"},
            ),
            (
                ("--port",),
                {"type": port, "default": 0, "metavar": "N", "help": "with --serve (default: a free one)"},
            ),
        ),
        "cli.demo:command",
    ),
    Command(
        "user add",
        "add a user, or replace one's roles and password",
        "dpproxy user add ann --role analyst --config dpproxy.toml",
        (
            USER,
            ROLES,
            CONFIG,
            PASSWORD,
        ),
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
        ((("file",), {"metavar": "FILE", "type": Path, "help": "a .toml or .sql file"}), JSON),
        "cli.policy:check",
    ),
    Command(
        "policy dump",
        "print the policy in force as statements that make it again",
        "dpproxy policy dump --config dpproxy.toml > policy/all.sql",
        (CONFIG, DATABASE, JSON),
        "cli.policy:dump",
    ),
    Command(
        "policy diff",
        "print what policy files would change of the policy in force, and what that does to guarantees and budgets",
        "dpproxy policy diff policy/20_research.sql --config dpproxy.toml",
        (
            (
                ("file",),
                {
                    "metavar": "FILE",
                    "type": Path,
                    "nargs": "*",
                    "help": "policy files (default: the configured ones)",
                },
            ),
            CONFIG,
            DATABASE,
            JSON,
        ),
        "cli.policy:diff",
    ),
    Command(
        "policy apply",
        "apply the configured policy files, also where they weaken the policy in force, which no start does",
        "dpproxy policy apply --config dpproxy.toml",
        (CONFIG, DATABASE, JSON),
        "cli.policy:apply",
    ),
    Command(
        "explain",
        "print the price and the expected error of statements; nothing is spent",
        "dpproxy explain 'SELECT sex, count(*) FROM adult GROUP BY sex' --config dpproxy.toml",
        (
            (("sql",), {"metavar": "SQL", "help": "one SELECT, or a file of several (.sql)"}),
            (("--budget",), {"metavar": "E", "type": exactly, "help": "an epsilon to split among them"}),
            (("--verbose",), {"action": "store_true", "help": "with what is run"}),
            JSON,
            CONFIG,
            DATABASE,
            (
                ("--role",),
                {
                    "action": "append",
                    "metavar": "ROLE",
                    "help": "who asks (default: every role with a grant)",
                },
            ),
        ),
        "cli.budget:explain",
    ),
    Command(
        "budget show",
        "print limits, what was spent of them and by whom",
        "dpproxy budget show --config dpproxy.toml",
        (CONFIG, DATABASE, JSON),
        "cli.budget:show",
    ),
    Command(
        "report",
        "write who protects what from whom, and what was released, as a page for people without mathematics",
        "dpproxy report --output report.html --config dpproxy.toml",
        (
            CONFIG,
            DATABASE,
            (("--output",), {"type": Path, "metavar": "FILE", "help": "the HTML file (default: stdout)"}),
        ),
        "cli.report:command",
    ),
    Command(
        "budget reset",
        "let a budget, or one user of it, begin anew; the ceilings of its tables never do",
        "dpproxy budget reset research --user ann --reason 'a mistaken query' --config dpproxy.toml",
        (
            (("name",), {"metavar": "NAME", "help": "the budget"}),
            (("--user",), {"metavar": "USER", "help": "one user of it alone"}),
            (("--reason",), {"metavar": "TEXT", "required": True, "help": "why; the ledger keeps it"}),
            CONFIG,
            DATABASE,
            JSON,
        ),
        "cli.budget:reset",
    ),
    Command(
        "view build",
        "build a protected view anew, and charge it anew; progress goes to stderr",
        "dpproxy view build patients_dp --config dpproxy.toml",
        (
            (("name",), {"metavar": "NAME", "help": "the view, as the policy declares it"}),
            CONFIG,
            DATABASE,
            JSON,
        ),
        "cli.view:build",
    ),
    Command(
        "view list",
        "print every protected view with its state, price and guarantee",
        "dpproxy view list --config dpproxy.toml",
        (CONFIG, DATABASE, JSON),
        "cli.view:list_all",
    ),
    Command(
        "view verify",
        "print what protected views promise, side by side; exact figures for a role with EXACT SELECT alone",
        "dpproxy view verify patients_dp patients_k --role dpo --config dpproxy.toml",
        (
            (("name",), {"metavar": "NAME", "nargs": "+", "help": "the views"}),
            (
                ("--role",),
                {"metavar": "ROLE", "action": "append", "help": "look as this role, too; it is on record"},
            ),
            CONFIG,
            DATABASE,
            JSON,
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
            (("--file",), {"metavar": "BACKUP", "type": Path, "help": "check a backup of it instead"}),
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
            (("--format",), {"choices": ("csv", "json"), "default": "csv", "help": "csv (default) or json"}),
            (("--output",), {"metavar": "FILE", "type": Path, "help": "a file (default: stdout)"}),
            (("--json",), {"action": "store_true", "help": "the same as --format json"}),
        ),
        "cli.ledger:export",
    ),
    Command(
        "ledger backup",
        "copy the ledger to a new file while proxies serve from it, and verify the copy",
        "dpproxy ledger backup /backup/ledger-2026-11-21.sqlite --config dpproxy.toml",
        ((("file",), {"metavar": "FILE", "type": Path, "help": "the file to make"}), CONFIG, DATABASE, JSON),
        "cli.ledger:back_up",
    ),
    Command(
        "ledger archive",
        "move old entries to a new file; sums, chain and what can be asked again stay",
        "dpproxy ledger archive /backup/ledger-to-2026.sqlite --before 2026-01-01 --config dpproxy.toml",
        (
            (("file",), {"metavar": "FILE", "type": Path, "help": "the file to make"}),
            (
                ("--before",),
                {"metavar": "DATE", "required": True, "help": "entries of before this day (UTC) leave"},
            ),
            CONFIG,
            DATABASE,
            JSON,
        ),
        "cli.ledger:archive",
    ),
    Command(
        "ledger mark",
        "make the high-water mark anew at what the ledger holds; spending beyond that is forgotten for good",
        "dpproxy ledger mark --config dpproxy.toml",
        (CONFIG, DATABASE, JSON),
        "cli.ledger:mark",
    ),
    Command(
        "backup",
        "copy the state of all data sources, and the users, to a new directory while proxies serve",
        "dpproxy backup /backup/dpproxy-2026-11-21 --config dpproxy.toml",
        ((("directory",), {"metavar": "DIR", "type": Path, "help": "the directory to make"}), CONFIG),
        "cli.state:backup",
    ),
    Command(
        "restore",
        "put a backup back where there is no state; exit status 1 where its ledger is behind its high-water mark",
        "dpproxy restore /backup/dpproxy-2026-11-21 --config dpproxy.toml",
        (
            (("directory",), {"metavar": "DIR", "type": Path, "help": "what dpproxy backup has made"}),
            CONFIG,
            (("--database",), {"metavar": "NAME", "help": "this data source alone (default: all)"}),
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
        ((("shell",), {"choices": SHELLS, "help": "bash or zsh"}),),
        "cli.completion:command",
    ),
    Command(
        "selftest",
        "try every attack on made-up people under your own policy; exit status 1 where a promise is not kept",
        "dpproxy selftest --config dpproxy.toml",
        (
            CONFIG,
            DATABASE,
            JSON,
            (
                ("--runs",),
                {
                    "type": int,
                    "default": 100,
                    "metavar": "N",
                    "help": "samples of each side, 0 for none (default: 100)",
                },
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
            (
                ("url",),
                {
                    "metavar": "URL",
                    "nargs": "*",
                    "help": "two proxies (default: two of its own over made-up data)",
                },
            ),
            (
                ("--sql",),
                {
                    "metavar": "SQL",
                    "action": "append",
                    "help": "what to ask (default: every aggregate; may be given again)",
                },
            ),
            (
                ("--epsilon",),
                {
                    "type": exactly,
                    "default": "1",
                    "metavar": "E",
                    "help": "the promise for one statement (default: 1)",
                },
            ),
            (
                ("--runs",),
                {
                    "type": int,
                    "default": 100,
                    "metavar": "N",
                    "help": "how often to ask each side (default: 100)",
                },
            ),
        ),
        "assurance.audit:command",
    ),
)
