"""DuckDB files, and files that DuckDB imports.

In: the exact stage as text. Out: its bounded integers. Start at ``source``.
"""
