"""The only way from a statement to its answer.

In comes a caller with a statement, out comes a stored, charged or public answer, or a refusal. The order is
fixed: plan, look for a stored release, reserve the charge, run the exact stage, draw the noise, store the
release, compute the answer. Start with ``engine``, then ``answers``.
"""
