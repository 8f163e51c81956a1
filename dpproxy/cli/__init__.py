"""The command line: one module for each command, or for a few that belong together.

In come words, out goes an exit status. ``commands`` lists all of them without loading any; ``main`` runs one.
"""
