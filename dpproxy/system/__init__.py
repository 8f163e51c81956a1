"""What the proxy asks of the operating system.

Files that are whole on the disk or not there (``disk``), the processor that threads stay on (``processor``),
and a server in a process of its own (``process``). Nothing in here knows SQL or privacy. Start with ``disk``.
"""
