"""FROM and WHERE over protected rows: whose rows they are, and how many of them one person can have.

In: items of FROM and conditions. Out: a relation with its privacy unit and bounds. Start at ``from_rows``.
"""
