"""What keeps DuckDB to the database that it was given, wherever it is opened."""

LOCKED = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "allow_community_extensions": "false",
    "disabled_optimizers": "statistics_propagation",
    "enable_caching_operators": "false",
}
"""What keeps a statement inside the database; set before the configuration is locked.

Plans must not follow from what columns hold: with statistics, one NULL in a table made a total expression fail to bind.
Collecting small vectors between operators fails in the engine (2.0.0) where a joined text column changes its
dictionary, which is to say with the rows; and after a failure inside the engine the whole database stays closed.
"""
