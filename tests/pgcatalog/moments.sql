SELECT timestamptz '2024-01-02 00:30:00+02'
SELECT timestamptz '2024-01-02 00:30:00+02'::text
SELECT timestamptz '2024-01-02 00:30:00+02'::date
SELECT timestamptz '2024-01-02 00:30:00+02'::timestamp
SELECT extract(hour from timestamptz '2024-01-02 00:30:00+02')
SELECT extract(epoch from timestamptz '2024-01-02 00:30:00+02')
SELECT date_part('day', timestamptz '2024-01-02 00:30:00+02')
SELECT '2024-01-02'::timestamptz
SELECT '2024-01-02'::date::timestamptz
SELECT timestamp '2024-01-02 03:00'::timestamptz
SELECT to_char(timestamptz '2024-01-02 00:30:00+02', 'YYYY-MM-DD HH24:MI')
SELECT concat('x', timestamptz '2024-01-02 00:30:00+02')
SELECT 'x' || timestamptz '2024-01-02 00:30:00+02'
SELECT timestamptz '2024-01-02 00:30:00+02' > timestamp '2024-01-01 23:00'
SELECT timestamptz '2024-01-02 00:30:00+02' = '2024-01-01 22:30'
SELECT timestamptz '2024-03-10 00:30:00+00' + interval '1 day'
SELECT timestamptz '2024-01-02 00:30:00+02' - timestamp '2024-01-01'
SELECT date '2024-01-02' = timestamptz '2024-01-02 00:00+00'
SELECT ARRAY[timestamptz '2024-01-02 00:30:00+02']::text
SELECT now()::date = current_date
SELECT coalesce(timestamptz '2024-01-02 00:30:00+02', timestamp '2024-01-02')
SELECT json_build_object('a', timestamptz '2024-01-02 00:30:00+02')::text IS NOT NULL
SELECT timestamptz '2024-01-02 00:30:00+02' BETWEEN '2024-01-01' AND '2024-01-02'
SELECT row_to_json(t)::text IS NULL FROM (SELECT 1 AS a) t
SELECT date_trunc('week', timestamptz '2024-01-04 00:30:00+02')
SELECT date_trunc('quarter', timestamp '2024-05-04 00:30:00')
SELECT date_trunc('year', date '2024-05-04')
SELECT date '2024-05-04' + x FROM generate_series(1, 2) x
SELECT date '2024-05-04' - x FROM generate_series(1, 2) x
SELECT current_date = date_trunc('day', now())::date, x FROM generate_series(1, 2) x
