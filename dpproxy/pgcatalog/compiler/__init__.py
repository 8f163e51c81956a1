"""Statements about the catalogue, compiled to the SQL of an engine that holds nothing but the catalogue's rows.

In: a parsed statement. Out: the same in DuckDB's SQL, with PostgreSQL's types. Start at ``rewrite``.
"""
