"""One client, without sockets.

In come messages of the protocol, out go messages; between them are login, transactions, settings, cursors,
prepared statements and COPY. What runs statements is seen as a protocol (``work``), never as a module. Start
with ``session``.
"""
