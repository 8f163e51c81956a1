"""Protected views: their columns, how they are built, and the files their builds are stored in.

In come a view's definition and the rows of its query; out comes a table that a method of ``anonymize`` made, with a
manifest of its guarantee and price. Start with ``make``; ``materialized`` is a build that statements read.
"""
