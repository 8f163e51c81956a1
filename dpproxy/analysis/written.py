"""Values as PostgreSQL writes them in text, by expressions of the engine, which writes some of them otherwise.

PostgreSQL writes a float with the fewest digits that read back alike, in full from 1e-4 up to 1e15, a real up to 1e6,
and with an exponent beyond; an interval with ``mon`` and ``mons``, and with a sign behind a negative part.
"""

from typing import Final

from dpproxy.algebra import nodes

_PLAIN: Final = "regexp_replace(CAST(x AS VARCHAR), '[.]0$', '')"
_DIGITS: Final = f"regexp_replace(replace(ltrim({_PLAIN}, '-'), '.', ''), '0+$', '')"
_EXPONENT: Final = f"CAST(length(split_part(ltrim({_PLAIN}, '-'), '.', 1)) - 1 AS VARCHAR)"


def _float(full: str) -> str:
    """Of a float whose values are written in full below ``full``."""
    return (
        "CASE WHEN x IS NULL THEN NULL WHEN CAST(x AS VARCHAR) = 'nan' THEN 'NaN' "
        "WHEN CAST(x AS VARCHAR) = 'inf' THEN 'Infinity' WHEN CAST(x AS VARCHAR) = '-inf' THEN '-Infinity' "
        "WHEN contains(CAST(x AS VARCHAR), 'e') THEN CAST(x AS VARCHAR) "
        f"WHEN abs(CAST(x AS DOUBLE)) < {full} THEN {_PLAIN} "
        f"ELSE concat(CASE WHEN CAST(x AS DOUBLE) < 0 THEN '-' ELSE '' END, left({_DIGITS}, 1), "
        f"CASE WHEN length({_DIGITS}) > 1 THEN '.' ELSE '' END, substring({_DIGITS}, 2), 'e+', "
        f"lpad({_EXPONENT}, 2, '0')) END"
    )


_SCIENTIFIC: Final = "format('{:.14e}', x)"
_MANTISSA: Final = (
    f"regexp_replace(replace(ltrim(split_part({_SCIENTIFIC}, 'e', 1), '-'), '.', ''), '0+$', '')"
)
_POWER: Final = f"TRY_CAST(split_part({_SCIENTIFIC}, 'e', 2) AS INTEGER)"
NUMERIC: Final = (
    "CASE WHEN x IS NULL THEN NULL WHEN NOT isfinite(x) THEN 'NaN' WHEN x = 0 THEN '0' "
    "ELSE concat(CASE WHEN x < 0 THEN '-' ELSE '' END, "
    f"CASE WHEN {_POWER} < 0 THEN concat('0.', repeat('0', -{_POWER} - 1), {_MANTISSA}) "
    f"WHEN length({_MANTISSA}) <= {_POWER} + 1 THEN rpad({_MANTISSA}, {_POWER} + 1, '0') "
    f"ELSE concat(left({_MANTISSA}, {_POWER} + 1), '.', substring({_MANTISSA}, {_POWER} + 2)) END) END"
)
"""Of a numeric that is held as a DOUBLE, with the 15 digits that are shown of one, and no exponent."""
FLOAT4: Final = _float("1e6")
FLOAT8: Final = _float("1e15")
INTERVAL: Final = (
    "regexp_replace(regexp_replace(replace(CAST(x AS VARCHAR), 'month', 'mon'), "
    "'-1 (year|mon|day)( |$)', '-1 \\1s\\2', 'g'), '(-[0-9]+ [a-z]+) ([0-9])', '\\1 +\\2', 'g')"
)


def written(template: str, value: nodes.Expr) -> nodes.Expr:
    """One of the expressions above, of a value in place of ``x``, which stands in it once: it may be large."""
    return nodes.Formula(("list_transform([", f"], lambda x: {template})[1]"), (value,))
