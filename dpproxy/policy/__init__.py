"""The policy: which tables are protected, whose rows they contain, and how much may be learned about one person.

In come statements, over the wire or from files; out come a frozen ``Policy``, the statements that recreate it, and the
differences between two policies in words. Start with ``model``; ``parser`` reads statements, ``apply`` makes the next
policy.
"""
