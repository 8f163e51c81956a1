"""Attacks on one person's value, which is drawn from a prior: same row, type and price if she is absent."""

from dpproxy.assurance.model import Attack, Outcome

ATTACKS = (
    Attack(
        "one person's value",
        "she is there, or is not, or her value is NULL or outside the prior",
        Outcome.PROMISED,
        (
            "SELECT dp.with_prior({n}, family => 'uniform', low => {lo}, high => {hi}) FROM {t} WHERE {key} = {her}",
            "SELECT dp.with_prior({n}, 'normal({lo}, 9)') FROM {t} WHERE {key} = {her} AND {n} > {lo}",
            "SELECT dp.with_prior({n}, 'point({hi})') FROM {t} WHERE {key} = {her} AND FALSE",
            "SELECT dp.with_prior(avg({n}), 'uniform({lo}, {hi})') FROM {t}",
            "SELECT {k}, dp.with_prior(avg({n}), 'normal({lo}, 9)') FROM {t} GROUP BY {k}",
            "SELECT dp.with_prior(count(*), 'point(-3)') FROM {t}",
            "SELECT dp.ci_low(dp.with_prior(avg({n}), 'point(1)')) FROM {t}",
        ),
        drawn=True,
    ),
    Attack(
        "a prior that reads the data",
        "parameters of a prior, or the prior itself, out of protected rows",
        Outcome.REFUSED,
        (
            "SELECT dp.with_prior(avg({n}), prior => (SELECT {n}, 1 FROM {t} WHERE {n} = {hi})) FROM {t}",
            "SELECT dp.with_prior(avg({n}), prior => (SELECT {n}, count(*) FROM {t} GROUP BY {n})) FROM {t}",
            "SELECT dp.with_prior(avg({n}), family => 'normal', mean => avg({n}), sd => 1) FROM {t}",
            "SELECT dp.with_prior({n}, 'point(1)') FROM {t}",
            "SELECT dp.with_prior({n}, 'point(1)') FROM {t} WHERE {key} >= {her}",
            "SELECT dp.with_prior({n}, 'point(1)'), {n} FROM {t} WHERE {key} = {her}",
            "SELECT {n} FROM {t} WHERE {key} = {her}",
            "SELECT count(*) FROM {t} WHERE dp.with_prior({n}, 'point(1)') = 1",
        ),
    ),
)
