"""What an administrator declares: which tables are protected, whose rows they are, what may be learned of them.

In come statements, over the wire or from files; out come a frozen ``Policy``, the statements that make it again, and
the differences of two policies in words. Start with ``model``; ``parser`` reads statements, ``apply`` makes the next
policy.
"""
