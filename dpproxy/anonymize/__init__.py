"""Methods of anonymisation over tables of whole numbers; nothing here knows SQL, policies or ledgers.

In come attributes with their domains, options and rows; out come rows to be released, with the guarantee and its loss.
One file for each method, its proof beside it, listed in ``methods``. Start with ``model``.
"""
