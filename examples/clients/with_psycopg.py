"""The same question from psycopg 3: python with_psycopg.py postgresql://ann@127.0.0.1:6432/main."""

import sys

import psycopg

QUESTION = "SELECT sex, count(*), avg(hours_per_week) FROM adult WHERE age >= %s GROUP BY sex"

with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    connection.add_notice_handler(lambda notice: print("--", notice.message_primary))
    connection.execute("SET dp.epsilon = 0.2")
    for sex, people, hours in connection.execute(QUESTION, [40]):
        print(f"{sex:8} {people:6} {hours:8.2f}")
    try:
        connection.execute("SELECT age FROM adult")
    except psycopg.Error as refused:
        print(refused.sqlstate, refused.diag.message_primary)
        print("hint:", refused.diag.message_hint)
