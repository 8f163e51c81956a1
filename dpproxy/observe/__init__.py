"""What is recorded for the people who watch over the proxy.

In comes the outcome of each statement; out go entries of the audit log (``audit_log``), lines of JSON
(``logs``) and figures for Prometheus (``metrics``). No value of a row passes through here. Start with
``records``.
"""
