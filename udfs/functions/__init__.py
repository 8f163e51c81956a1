"""The functions of SQL, one file per family, listed by hand in ``table``."""
