"""The page: a client of the wire that people use in a browser, in a process of its own.

Each login opens a connection to the proxy with the user's password, and every statement goes over it: what the wire
refuses, the page cannot do. Nothing here knows the engine. Start with ``site``, then ``logins``.
"""
