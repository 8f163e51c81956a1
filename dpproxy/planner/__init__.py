"""From a parsed statement to a plan, rule by rule; no row is read for it.

In come a tree, the policy, the caller and the settings; out comes a ``Plan`` with its exact statements, the joint draw,
the price and the deadline, or a refusal with its place. Start with ``query``, then ``block`` for a grouped SELECT and
``joins`` for how the unit is followed.
"""
