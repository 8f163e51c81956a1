"""The functions of SQL, one file for each family, listed in ``table``.

In come chunks of Arrow columns from DuckDB, out go columns with noise. Parameters are checked and noise is drawn before
a value is read. Start with ``table``, then ``joint``, which most families are made of.
"""
