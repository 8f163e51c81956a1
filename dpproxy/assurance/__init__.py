"""What tries to break the promise.

Attacks as values, listed in ``suite`` and tried by ``run`` against made-up people or a configuration; an
audit that bounds epsilon from below by asking two proxies that differ by one person; the self-test that an
operator runs. Start with ``suite``.
"""
