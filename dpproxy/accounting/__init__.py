"""The ledger, and the store of released answers.

In come charges: which accounts pay how much for which question. Out go reservations that are durable before a row is
read, balances, and stored answers that an earlier charge paid for. A ledger is a SQLite file or a schema in a
PostgreSQL database. Start with ``model`` for the terms, then ``ledger``; ``limits`` and ``windows`` say when a charge
is refused.
"""
