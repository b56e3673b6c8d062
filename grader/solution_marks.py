# SPDX-License-Identifier: MIT
"""The marks of a solution: the lines between them, and what students get instead.

BEGIN SOLUTION and END SOLUTION are comment lines in the language of the file. The lines
after them that begin with STARTER are the student's.
"""

from __future__ import annotations

import re

REGION = re.compile(
    r"^[ ]*(?://|#) BEGIN SOLUTION\n(.*?)^[ ]*(?://|#) END SOLUTION\n"
    r"((?:^[ ]*(?://|#) STARTER[^\n]*\n)*)",
    re.M | re.S,
)


def starter(text: str) -> str:
    """A source with its solutions replaced by what students get instead; a STARTER line
    that stands alone is uncovered, too.
    """
    offered = REGION.sub(lambda match: match[2], text)
    return re.sub(r"(?m)^([ ]*)(?://|#) STARTER ?", r"\1", offered)


def solved(text: str) -> str:
    """A source as its author reads it: complete, without marks and STARTER lines."""
    whole = REGION.sub(lambda match: match[1], text)
    return re.sub(r"(?m)^[ ]*(?://|#) STARTER[^\n]*\n", "", whole)
