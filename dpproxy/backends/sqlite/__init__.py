"""SQLite as a data source.

In: the exact stage as nodes. Out: its bounded integers. Start at ``server``; ``dialect`` has the constructs.
"""
