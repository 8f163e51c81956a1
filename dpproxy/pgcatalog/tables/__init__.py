"""The relations of the catalogue that have rows, each from what a caller may see.

In: a ``CatalogueView``. Out: rows by column name, and one ``TABLES`` a module, which ``pgcatalog.relations`` gathers.
Start at ``roles``; ``table`` (one folder up) says what a table is.
"""
