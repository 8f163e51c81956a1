"""Small pure things that everything may use.

Nothing comes in from other folders. Out go the errors with their SQLSTATEs, the types that are answered with,
the instants of the padding grid, and a table of what was used last. Start with ``errors``.
"""
