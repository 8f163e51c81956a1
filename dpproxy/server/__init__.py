"""Sockets and clocks: with the page the only folder that knows asyncio.

In come connections and bytes; out go bytes, no sooner than the deadline and the padding grid allow, and no
faster than the client reads. Each connection has a session; its work runs in threads. Start with
``listener``, then ``client``.
"""
