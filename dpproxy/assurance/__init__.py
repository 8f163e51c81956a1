"""Attempts to break the privacy guarantee.

Attacks as values, listed in ``suite`` and run by ``run`` against twins: two proxies over synthetic data that differ by
one person. An audit that bounds epsilon from below by sampling the answers of both; the self-test that an operator
runs under the configured policy. Start with ``suite``.
"""
