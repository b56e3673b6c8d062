# SPDX-License-Identifier: MIT
"""Makes objects of the rungs of labs 03 and 04 that lab 05 calls.

setup.py of lab 05 uses this package, so that the lab is built without the grader. The
grader uses two of its modules, too. linked_parts.py says what is linked with what.
walks.py writes the functions that go down a ladder.
"""


class Refusal(Exception):
    """The program cannot go on. The text is the whole message: what is wrong, the names
    and numbers, and what to do about it.
    """
