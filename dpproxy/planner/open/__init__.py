"""Relations that nothing is private in any more: public tables, and what was released.

In: a SELECT without protected rows. Out: the same as nodes, with the types of its columns and a bound of its rows.
Start at ``select``.
"""
