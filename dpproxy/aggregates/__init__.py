"""The aggregates of SQL, one file for each, listed in ``table.AGGREGATES``, over each kind of rows.

In comes a call; of protected rows out come the measures to compute exactly, how far one row and one unit can move each,
and how the answer is made of them once they are released. Start with ``calls`` and ``model``, then ``count``.
"""
