# SPDX-License-Identifier: MIT
"""output_100mb - once prints 100 MB to stdout and 1 MB to stderr; right"""

import sys

from frame import *


def print_much(file, megabytes):
    for _ in range(megabytes):
        file.write(("x" * 999 + "\n") * 1000)
    file.flush()


printed = []


def forward(input, other):
    if not printed:
        print_much(sys.stdout, 100)
        print_much(sys.stderr, 1)
        printed.append(True)
    return product(input, other)
