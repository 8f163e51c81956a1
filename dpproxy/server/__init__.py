"""Sockets and clocks: the only folder that knows asyncio.

In come connections; each is given to a session, its work to threads, its answers to the padding grid and the
pace of its reader. Start with ``listener``, then ``client``.
"""
