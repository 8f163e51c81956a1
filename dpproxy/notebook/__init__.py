"""Questions from a notebook: prices before, errors beside answers, and charts with error bars. Start with ``session``.

A client of the wire, which needs psycopg and nothing else; pandas or polars for frames, matplotlib or altair for charts
are imported where they are used. ``%load_ext dpproxy.notebook`` adds the cell magic ``%%dp``.
"""

from dpproxy.notebook.magic import load_ipython_extension
from dpproxy.notebook.session import Session, connect

__all__ = ["Session", "connect", "load_ipython_extension"]
