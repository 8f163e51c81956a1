"""What a command line reads and prints.

In come the words of a command line, out go arguments, lines on stdout and stderr, and answers laid out as
tables. Which commands there are is said in ``cli``. Start with ``arguments``.
"""
