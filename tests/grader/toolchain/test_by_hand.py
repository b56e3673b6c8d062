# SPDX-License-Identifier: MIT
"""A file in C holds no machine code that was made elsewhere: no assembler, in whatever
way it is written, and nothing in a section of its own.
"""

from __future__ import annotations

import pytest

from tests import put
from tests.grader.toolchain.conftest import LADDER
from tests.grader.toolchain.test_build import REFERENCE

BY_HAND = (
    '__asm__(".byte 195");\n',
    '__asm("nop");\n',
    '#define PASTE(a, b) a##b\nPASTE(__a, sm__)("nop");\n',
    '__attribute__((section("apart"))) int beside;\n',
    '__attribute__((__section__\n("apart"))) int beside;\n',
    '#line 1 "/usr/include/x.h"\n__asm__("nop");\n',
    "char a = '\"'; __asm__(\"nop\"); char b = '\"';\n",
    '__attribute__((section((".text.x")))) int beside;\n',
    '#ifdef REAL_F64\n__asm__("nop");\n#endif\n',
)
BESIDE = f"labs/{LADDER}/shared.h"
PATHS = ("shared.h", f"../{BESIDE}", f"/proc/self/cwd/{BESIDE}")


@pytest.mark.parametrize("text", BY_HAND)
def test_a_rung_holds_no_machine_code_made_elsewhere(root, build_text, text):
    assert "Write your code in C" in build_text(text + REFERENCE).forbidden


@pytest.mark.parametrize("path", PATHS)
def test_nor_does_a_header_beside_it(root, build_text, path):
    put(root / "labs" / LADDER / "shared.h", BY_HAND[0])
    for start, end in ('""', "<>"):
        found = build_text(f"#include {start}{path}{end}\n{REFERENCE}")
        assert found.error or "Write your code in C" in found.forbidden, found
    assert (
        "Write your code in C"
        in build_text(f'#include "shared.h"\n{REFERENCE}').forbidden
    )


@pytest.mark.parametrize(
    "text",
    [
        'static const char *const SAID = "asm, section(\\"x\\")";\n',
        "/* asm() */ enum { section = 1, ASM = 2, plasma = 3, asmall = 4 };\n",
        "#include <stdio.h>\n#include <math.h>\n#include <stdatomic.h>\n",
        '#include "vector.h"\n',
    ],
)
def test_words_that_look_like_it_are_allowed(build_text, text):
    found = build_text(text + REFERENCE)
    assert not found.forbidden and found.libraries, found
