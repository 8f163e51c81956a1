"""Attempts to break the privacy guarantee.

<<<<<<< HEAD
In comes a proxy over made-up people, or an operator's configuration; out come findings. Attacks are values,
listed in ``suite`` and tried by ``run``; ``audit`` bounds epsilon from below by asking two proxies that
differ by one person; ``selftest`` is for operators. Start with ``suite``.
=======
Attacks as values, listed in ``suite`` and run by ``run`` against twins: two proxies over synthetic data that differ by
one person. An audit that bounds epsilon from below by sampling the answers of both; the self-test that an operator
runs under the configured policy. Start with ``suite``.
>>>>>>> prose3
"""
