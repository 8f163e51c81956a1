"""The aggregates of SQL over protected rows, one file for each, listed in ``table.AGGREGATES``.

In comes a call with its compiled argument and bounds; out come the measures to compute exactly, how far one row and one
unit can move each, and how the answer is made of them once they are released. Start with ``model``, then ``count``.
"""
