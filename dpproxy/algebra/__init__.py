"""The values that move from the parser to the engines: who asks, what was planned, what is answered.

All of them are frozen. Start with ``plan``; ``request`` has every kind of statement.
"""
