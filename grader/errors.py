# SPDX-License-Identifier: MIT
"""Defines the errors that end a command, or the grading of one rung, with a sentence.

People see the sentence in place of a traceback.
"""

from __future__ import annotations

import errno

from ladders import Refusal

INTERRUPTED = 130  # exit status of a command that somebody has asked to end
# errors of the file system that mending one file does not end
_OF_MACHINE = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.EIO,
    errno.ENOMEM,
    errno.EMFILE,
    errno.ENFILE,
    errno.EAGAIN,
)


GraderError = Refusal  # a command cannot go on: the text is the whole message


class ProductError(GraderError):
    """A product of a build could not be made. A grading goes on: it is the verdict
    GRADER of the rung that needs it.
    """


def of_machine(error: Exception) -> bool:
    """Whether an error ends a grading: the disk is full, a compiler is missing."""
    if isinstance(error, OSError):
        return error.errno in _OF_MACHINE
    return isinstance(error, GraderError) and not isinstance(error, ProductError)
