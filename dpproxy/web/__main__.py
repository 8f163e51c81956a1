"""``python -m dpproxy.web OPTIONS DESCRIPTOR``: the page, on a socket that its parent has opened and bound."""

import os
import socket
import sys

from dpproxy.web.options import KEY, Options
from dpproxy.web.server import serve

serve(Options.read(sys.argv[1], os.environ.pop(KEY, "")), socket.socket(fileno=int(sys.argv[2])))
