"""Other ways to write what the planner knows in one: they are rewritten before names are looked up.

In and out: a parsed statement. Start at ``fetch``, the shortest.
"""
