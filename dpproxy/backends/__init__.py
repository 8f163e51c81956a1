"""The engines: where exact statements run over rows, and where noise is drawn over what they returned.

In come the statements of a plan; out come exact whole numbers for the mechanism, and answers over released values.
``opening`` opens a data source by its scheme: DuckDB in a child process (``remote``, ``worker``), or a server to which
statements are pushed (``pushed``, ``postgres``, ``spark``). ``release`` runs the mechanism and the answer stage.
"""
