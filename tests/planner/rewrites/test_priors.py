import pytest
from sqlglot import exp

from dpproxy.planner.accept import accept, parse
from dpproxy.planner.rewrites.priors import PARAMETERS, is_with_prior, read
from dpproxy.values.errors import InvalidParameter, Refusal
from udfs.prior_notation import FAMILIES


def written(arguments: str) -> list[str]:
    """What a call becomes, without its operand."""
    tree = accept(parse(f"SELECT dp.with_prior(avg(x), {arguments}) FROM t"))
    [call] = [n for n in tree.walk() if is_with_prior(n)]
    assert isinstance(call.expressions[0], exp.Avg)
    return [n.sql("postgres") for n in call.expressions[1:]]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("family => 'normal', mean => 44, sd => 6", "normal(44, 6)"),
        ("sd => 6, MEAN => -4.5e1, family => 'normal'", "normal(-45.0, 6)"),
        ("family => 'lognormal', mean => 6, sd => 1", "lognormal(6, 1)"),
        ("family => 'lognormal', mu => 6, sigma => 1", "lognormal(6, 1)"),
        ("family => 'uniform', low => 0, high => 24", "uniform(0, 24)"),
        ("family => 'beta', alpha => 2, beta => 2", "beta(2, 2)"),
        ("family => 'beta', alpha => 2, beta => 2, low => 0, high => 9", "beta(2, 2, 0, 9)"),
        (
            "family => 'histogram', edges => ARRAY[0, 1, 2], masses => ARRAY[1, 3]",
            "histogram([0, 1, 2], [1, 3])",
        ),
        (
            "family => 'nominal', values => ARRAY['a', 'b'], masses => ARRAY[0.5, 0.5]",
            'nominal(["a", "b"], [0.5, 0.5])',
        ),
        (
            "family => 'custom', values => ARRAY[1, 2], masses => ARRAY[1, 1], distances => ARRAY[[0, 5], [5, 0]]",
            "custom([1, 2], [1, 1], [[0, 5], [5, 0]])",
        ),
        ("'0.5 * point(0) + 0.5 * normal(9, 1)'", "0.5 * point(0) + 0.5 * normal(9, 1)"),
        ("prior => 'uniform(0, 1)'", "uniform(0, 1)"),
    ],
)
def test_a_prior_becomes_its_text(arguments: str, text: str):
    assert written(arguments) == [f"'{text}'"]
    read(text, None)


def test_rows_keep_their_query_and_family():
    assert written("prior => (SELECT a, b FROM c), family => 'ordinal'") == [
        "(SELECT a, b FROM c)",
        "'ordinal'",
    ]
    assert len(written("(SELECT a, b FROM c)")) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("family => 'normal', mean => 44", "a prior of family normal takes mean, sd"),
        ("family => 'normal', mean => 44, sd => 6, low => 1", "a prior of family normal takes mean, sd"),
        ("family => 'normal', mean => 44, mean => 45, sd => 6", "each of its parameters once"),
        ("family => 'lognormal', mean => 44, mu => 45, sd => 6", "takes mean, sd"),
        ("family => 'beta', alpha => 2, beta => 2, low => 0", "takes alpha, beta, low, high"),
        ("family => 'cauchy', mean => 1", "no family of priors is called cauchy"),
        ("mean => 44, sd => 6", "a prior needs its family"),
        ("family => x, mean => 44, sd => 6", "are texts"),
        ("family => 'normal', mean => $1, sd => 6", "are constants"),
        ("family => 'normal', mean => 40 + 4, sd => 6", "are constants"),
        ("family => 'normal', mean => (SELECT 1), sd => 6", "are constants"),
        ("family => 'normal', mean => 44, sd => 0", "standard deviation must be above 0"),
        ("'normal(44, 6)', 'normal(45, 6)'", "written once"),
        ("'normal(44, 6)', family => 'normal'", "no parameters beside it"),
        ("prior => (SELECT a, b FROM c), family => 'normal'", "of family table, nominal, ordinal"),
        ("'normal(44'", "a prior is written like normal"),
    ],
)
def test_what_is_no_prior_is_refused(arguments: str, message: str):
    with pytest.raises(InvalidParameter, match=message):
        written(arguments)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT dp.with_prior() FROM t",
        "SELECT dp.with_prior(family => 'normal') FROM t",
        "SELECT dp.noise_sd(x => count(*)) FROM t",
        "SELECT abs(x => 3)",
        "SELECT with_prior(avg(x), 'normal(1, 2)') FROM t",
    ],
)
def test_named_arguments_stand_nowhere_else(sql: str):
    with pytest.raises(Refusal):
        accept(parse(sql))


def test_every_family_has_named_parameters():
    assert PARAMETERS.keys() == FAMILIES.keys()
