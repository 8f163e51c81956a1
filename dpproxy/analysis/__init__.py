"""What an expression means for privacy.

In come nodes of the parser and the columns in scope; out go expressions that are total on every row, with types,
bounds, lengths, work and the keys they can be. What is not listed is refused. Start with ``expressions``; ``totality``
checks the finished text once more with a list of its own.
"""
