"""Attempts to break the privacy guarantee.

In come twins, two proxies over synthetic data that differ by one person, or an operator's configuration; out come
findings. Attacks are values, listed in ``suite`` and run by ``run``; ``audit`` bounds epsilon from below by sampling
the answers of both twins; ``selftest`` runs under the configured policy. Start with ``suite``.
"""
