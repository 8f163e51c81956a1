"""PostgreSQL's SQL as text.

``lexer`` cuts a text into tokens and statements, ``cursor`` is what session commands and privacy statements are read
with, ``quoting`` writes names and texts. ``grammar`` parses a query to a tree, with the repairs that PostgreSQL's
grammar needs. Start with ``lexer``.
"""
