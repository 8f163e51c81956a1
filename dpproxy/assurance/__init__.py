"""What tries to break the promise.

In comes a proxy over made-up people, or an operator's configuration; out come findings. Attacks are values,
listed in ``suite`` and tried by ``run``; ``audit`` bounds epsilon from below by asking two proxies that
differ by one person; ``selftest`` is for operators. Start with ``suite``.
"""
