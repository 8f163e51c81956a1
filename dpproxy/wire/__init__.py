"""The PostgreSQL frontend/backend protocol 3.0, without input or output.

In come bytes, out go messages, and the other way round; values have PostgreSQL's forms, as text and in binary. Start
with ``messages``, then ``connection``, which says which message may come when; ``values`` and ``bulk`` encode rows.
"""
