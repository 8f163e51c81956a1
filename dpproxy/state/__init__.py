"""The state directory: what must survive a restart.

Where policy, ledger, released answers and views of each data source lie, how an older layout is renewed, how
all of it is copied while proxies serve from it, and the settings that belong to roles. Start with
``directory``.
"""
