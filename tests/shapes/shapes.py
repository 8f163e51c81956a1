"""35 statements that analysts write every day, over patients, visits and a public table of wards.

Each is legal in PostgreSQL and in DuckDB, whose own answer it is compared with. Statements order their rows, and leave
out groups that nobody is in, which a protected answer shows with its noise.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """``slack`` is how far a number may be from the exact one: the noise left, or the rank error of a quantile."""

    name: str
    sql: str
    slack: float = 0.0


ACCEPTED = (
    Shape("count", "SELECT count(*) FROM visits"),
    Shape("count by key", "SELECT sex, count(*) AS n FROM patients GROUP BY sex ORDER BY sex"),
    Shape(
        "several aggregates",
        """SELECT city, count(*), sum(age), avg(age), count(weight), avg(weight) FROM patients
           GROUP BY city ORDER BY city""",
        0.01,
    ),
    Shape(
        "conditions",
        """SELECT count(*) FROM visits WHERE cost > 100 AND (ward IN ('A', 'B') OR minutes BETWEEN 30 AND 60)
           AND NOT urgent AND day >= DATE '2024-03-01'""",
    ),
    Shape(
        "having",
        """SELECT ward, sum(cost) AS total FROM visits GROUP BY ward HAVING count(*) > 440 AND avg(minutes) > 10
           ORDER BY ward""",
        1,
    ),
    Shape(
        "top n",
        """SELECT city, sex, sum(age) AS years FROM patients GROUP BY city, sex ORDER BY years DESC, city, sex
           LIMIT 4""",
        0.01,
    ),
    Shape(
        "filter clause",
        """SELECT ward, count(*) FILTER (WHERE urgent) AS urgent, count(*) FILTER (WHERE cost >= 500) AS dear,
           sum(minutes) FILTER (WHERE NOT urgent) AS calm FROM visits GROUP BY ward ORDER BY ward""",
        0.1,
    ),
    Shape(
        "case inside",
        """SELECT city, sum(CASE WHEN age >= 65 THEN 1 ELSE 0 END) AS old,
           avg(CASE WHEN sex = 'f' THEN 1.0 ELSE 0.0 END) AS women FROM patients GROUP BY city ORDER BY city""",
        0.001,
    ),
    Shape(
        "by month",
        """SELECT date_trunc('month', day) AS month, count(*) AS n, sum(cost) AS total FROM visits
           GROUP BY date_trunc('month', day) ORDER BY month""",
        1,
    ),
    Shape(
        "by parts of a date",
        """SELECT extract(year FROM day) AS y, extract(month FROM day) AS m, count(*) FROM visits
           GROUP BY 1, 2 ORDER BY 1, 2""",
    ),
    Shape(
        "distinct people",
        """SELECT ward, count(DISTINCT patient) AS people, count(*) AS visits FROM visits
           GROUP BY ward ORDER BY ward""",
    ),
    Shape("distinct values", "SELECT count(DISTINCT ward), count(DISTINCT minutes) FROM visits", 0.01),
    Shape(
        "inner join",
        """SELECT p.sex, v.ward, count(*) AS n, avg(v.cost) AS cost FROM visits AS v
           JOIN patients AS p ON v.patient = p.id WHERE p.age >= 40 GROUP BY p.sex, v.ward ORDER BY 1, 2""",
        0.1,
    ),
    Shape(
        "left join",
        """SELECT p.city, count(*) AS lines, count(v.patient) AS visits, sum(v.minutes) AS minutes FROM patients p
           LEFT JOIN visits v ON v.patient = p.id GROUP BY p.city ORDER BY p.city""",
        0.1,
    ),
    Shape(
        "public join",
        """SELECT w.building, count(*) AS n, sum(v.cost) / count(*) AS mean FROM visits v JOIN wards w USING (ward)
           WHERE w.beds >= 10 GROUP BY w.building ORDER BY w.building""",
        0.1,
    ),
    Shape(
        "subquery in from",
        """SELECT half, count(*) AS n, avg(hours) AS hours FROM (
             SELECT CASE WHEN age < 50 THEN 'young' ELSE 'old' END AS half, minutes / 60.0 AS hours
             FROM visits JOIN patients ON patient = id WHERE urgent) AS s
           GROUP BY half ORDER BY half""",
        0.01,
    ),
    Shape(
        "per person average",
        """SELECT avg(n) AS visits, avg(total) AS spent, count(*) AS people FROM (
             SELECT patient, count(*) AS n, sum(cost) AS total FROM visits GROUP BY patient) AS each""",
        0.1,
    ),
    Shape(
        "per person distribution",
        """SELECT n, count(*) AS people FROM (SELECT patient, count(*) AS n FROM visits GROUP BY patient) AS each
           GROUP BY n HAVING count(*) > 0.5 ORDER BY n""",
    ),
    Shape(
        "common table expression",
        """WITH dear AS (SELECT patient, ward, cost FROM visits WHERE cost > 200),
             elder AS (SELECT id, city FROM patients WHERE age > 50)
           SELECT e.city, count(*) AS n, sum(d.cost) AS total FROM dear AS d JOIN elder AS e ON d.patient = e.id
           GROUP BY e.city ORDER BY e.city""",
        1,
    ),
    Shape(
        "union all",
        """SELECT what, count(*) AS n, sum(x) AS total FROM (
             SELECT 'visit' AS what, minutes AS x FROM visits WHERE urgent
             UNION ALL SELECT 'patient' AS what, age AS x FROM patients) AS u
           GROUP BY what ORDER BY what""",
        0.1,
    ),
    Shape(
        "in subquery",
        """SELECT sex, count(*) AS n FROM patients WHERE id IN (SELECT patient FROM visits WHERE ward = 'A')
           GROUP BY sex ORDER BY sex""",
    ),
    Shape(
        "not exists",
        """SELECT p.city, count(*) AS absent FROM patients AS p
           WHERE NOT EXISTS (SELECT 1 FROM visits AS v WHERE v.patient = p.id) GROUP BY p.city ORDER BY p.city""",
    ),
    Shape(
        "above average",
        """SELECT ward, count(*) AS n FROM visits WHERE cost > (SELECT avg(cost) FROM visits)
           GROUP BY ward ORDER BY ward""",
        1,
    ),
    Shape(
        "share of total",
        """SELECT ward, count(*) AS n, 100.0 * count(*) / sum(count(*)) OVER () AS share,
           rank() OVER (ORDER BY count(*) DESC, ward) AS place FROM visits GROUP BY ward ORDER BY ward""",
        0.001,
    ),
    Shape(
        "moving average",
        """WITH monthly AS (SELECT date_trunc('month', day) AS month, count(*) AS n FROM visits GROUP BY 1)
           SELECT month, n, n - lag(n) OVER (ORDER BY month) AS change,
           avg(n) OVER (ORDER BY month ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS mean FROM monthly ORDER BY month""",
        0.001,
    ),
    Shape(
        "rollup",
        """SELECT city, sex, count(*) AS n FROM patients GROUP BY ROLLUP (city, sex)
           ORDER BY city NULLS LAST, sex NULLS LAST""",
    ),
    Shape(
        "grouping sets",
        """SELECT city, sex, count(*) AS n, sum(age) AS years FROM patients GROUP BY GROUPING SETS ((city), (sex), ())
           ORDER BY city NULLS LAST, sex NULLS LAST""",
        0.1,
    ),
    Shape(
        "median and percentile",
        """SELECT median(age), percentile_cont(0.9) WITHIN GROUP (ORDER BY age),
           percentile_disc(0.25) WITHIN GROUP (ORDER BY age) FROM patients""",
        1,
    ),
    Shape("extremes", "SELECT sex, min(age), max(age) FROM patients GROUP BY sex ORDER BY sex", 1),
    Shape(
        "spread",
        """SELECT city, var_samp(age), stddev_samp(age), stddev_pop(weight), variance(age), stddev(weight)
           FROM patients GROUP BY city ORDER BY city""",
        0.5,
    ),
    Shape(
        "correlation",
        "SELECT corr(age, weight), covar_samp(weight, age), regr_slope(weight, age) FROM patients",
        0.1,
    ),
    Shape(
        "histogram",
        """SELECT floor(age / 10) * 10 AS bucket, count(*) AS n FROM patients GROUP BY floor(age / 10) * 10
           HAVING count(*) > 0.5 ORDER BY bucket""",
    ),
    Shape(
        "cohort",
        """SELECT extract(quarter FROM p.joined) AS cohort, extract(quarter FROM v.day) AS q,
           count(DISTINCT p.id) AS people, sum(v.cost) / count(DISTINCT p.id) AS each
           FROM patients p JOIN visits v ON v.patient = p.id GROUP BY 1, 2 ORDER BY 1, 2""",
        0.1,
    ),
)
REFUSED = (
    Shape("raw rows", "SELECT id, age, city FROM patients WHERE age > 70"),
    Shape("undeclared key", "SELECT town, count(*) FROM visits GROUP BY town"),
)
"""Rows are nobody's business; a key nobody declared needs a delta, which this budget has none of."""
