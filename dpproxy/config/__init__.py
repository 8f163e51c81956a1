"""What an operator configures, and what a session can set.

In come one TOML file, environment variables and a users file; out come a frozen ``Config``, the users with
their secrets, TLS, and the table of settings with their checks. Start with ``configuration``, then
``settings``.
"""
