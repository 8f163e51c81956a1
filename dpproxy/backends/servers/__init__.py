"""What database servers have in common: the exact stage is printed in their SQL and computed there.

In: the exact stage as nodes. Out: text, by an allow-list. Start at ``printer``.
"""
