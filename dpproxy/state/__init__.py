"""The state directory: what must survive a restart.

In comes a directory; out come the places of policy, ledger, released answers
and views of each data source, backups made while proxies serve from it, and the settings that belong to
roles. Start with ``directory``.
"""
