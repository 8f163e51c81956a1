"""The statements that a session answers by itself, one file for each kind.

In come the words of a statement, out comes what the session is to do. ``table`` says by the first keyword who
reads a statement.
"""
