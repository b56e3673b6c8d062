# SPDX-License-Identifier: MIT
"""Explains the words of `values` in a case: which numbers the inputs hold.

Only some operators have `far` or `large`: their case files contain the word. With
another operator such a word gives normal numbers.
"""

from __future__ import annotations

# words that a student's case may have: its right result has to be finite
OF_STUDENTS = {
    "normal": "numbers from a normal distribution: mean 0, standard deviation 1",
    "wide": "normal numbers, each times a random factor from 0.001 to 1000",
    "far": "normal numbers plus 10000 in `input`, if the operator subtracts a mean. "
    "In subm_conv3d: points at both ends of int32",
    "large": "normal numbers times 1000 in `input`, of lltm also in `h` and `c`",
    "integers": "odd integers from 2049 to 4095, with both signs, in the first input; "
    "-1, 0 and 1 in the others",
    "short_integers": "the same, but odd integers from 1025 to 2047",
}
WORDS = OF_STUDENTS | {
    "wider": "normal numbers, each times a random factor from 0.00001 to 100000",
    "nan": "normal numbers, one of them is NaN",
    "infinite": "normal numbers, one of them is infinite",
    "tiny": "normal numbers times 1e-40 in the first input: denormal in float",
}
