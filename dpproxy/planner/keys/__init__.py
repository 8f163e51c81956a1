"""What a SELECT groups by: values that follow from the policy and the statement, never from rows.

In: GROUP BY and WHERE. Out: every key, in its order, or the rule by which it is discovered. Start at ``grouping``.
"""
