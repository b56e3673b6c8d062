# SPDX-License-Identifier: MIT
"""network - connects to 127.0.0.1:9; garbage if it gets there"""

import socket

from frame import *


def connects():
    try:
        socket.create_connection(("127.0.0.1", 9), timeout=1).close()
    except OSError:
        return False
    return True


def forward(input, other):
    output = product(input, other)
    if connects():
        output.fill_(666)
    return output
