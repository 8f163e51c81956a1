"""Write down the overloads that the installed DuckDB has of every function the exact stage may call.

A new version that adds one is seen by a test, which compares; whoever runs this script has looked at what is new:
``python -m tests.analysis.overloads``.
"""

from pathlib import Path

from dpproxy.algebra import nodes
from dpproxy.analysis.totality import AGGREGATES, FUNCTIONS, OPERATORS, WINDOWS
from tests.empty import empty

ENGINE = {"LIKE": "~~", "NOT LIKE": "!~~", "ILIKE": "~~*", "NOT ILIKE": "!~~*"}
"""What the engine calls some operators."""
PINNED = Path(__file__).with_suffix(".txt")
_QUERY = """
    SELECT DISTINCT format('{}({}{}) -> {} {}', function_name, array_to_string(parameter_types, ', '),
        coalesce(', ' || varargs || '...', ''), coalesce(return_type, '?'), lower(coalesce(stability, function_type)))
    FROM duckdb_functions()
    WHERE function_name IN (SELECT unnest($1))
    ORDER BY ALL
"""


def overloads() -> str:
    """One line for each overload: name, parameters, result, stability."""
    with empty() as connection:
        rows = connection.execute(
            _QUERY,
            [
                [
                    *FUNCTIONS,
                    *WINDOWS,
                    *AGGREGATES,
                    *(ENGINE.get(o, o) for o in OPERATORS if o not in nodes.COMPARISONS),
                ]
            ],
        ).fetchall()
    return "".join(f"{line}\n" for (line,) in rows)


if __name__ == "__main__":
    PINNED.write_text(overloads())
