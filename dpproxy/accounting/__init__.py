"""The ledger, and the store of released answers.

In come charges: which accounts pay how much for which question. Out go reservations that are durable before a row is
read, balances, and answers that were paid before. Ledgers are files or tables of a PostgreSQL. Start with ``model`` for
the words, then ``ledger``; ``limits`` and ``windows`` say when a charge is refused.
"""
