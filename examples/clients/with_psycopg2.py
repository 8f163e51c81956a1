"""The same question from psycopg2, for tools built on it: python with_psycopg2.py postgresql://..."""

import sys
from contextlib import closing

import psycopg2

QUESTION = """
    SELECT sex, count(*) AS n, dp.ci_low(count(*)), dp.ci_high(count(*)), dp.noise_sd(count(*))
    FROM adult WHERE age >= %s GROUP BY sex
"""

with closing(psycopg2.connect(sys.argv[1], options="-c dp.epsilon=0.2")) as connection:
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(QUESTION, [40])
        for sex, people, low, high, sd in cursor.fetchall():
            print(f"{sex:8} {people:6} (95 %: {low} to {high}, noise sd {sd:.1f})")
