"""PostgreSQL's SQL as text.

In comes a statement's text, out come the parser's tokens and trees, with the repairs that PostgreSQL's
grammar needs. Start with ``grammar``.
"""
