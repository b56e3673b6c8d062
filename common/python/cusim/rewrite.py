# SPDX-License-Identifier: MIT
"""Rewrites preprocessed CUDA C++ to C++: launches, shared memory, refusals.

    g++ -E -x c++ -isystem .../cusim/include -include cuda_runtime.h FILE.cu |
        python -m cusim.rewrite [--loops] > file.ii

With --loops every loop gets a counter: loops.py.

The preprocessor has expanded macros and includes, so a launch in a macro looks like any
other launch. Line markers keep diagnostics and debuggers on the lines of FILE.cu. A
token never changes its line. Text of system headers (the CUDA headers of cusim are
given with -isystem) passes through.

The contract with cuda_runtime.h: these words of CUDA are macros that expand to words
which are removed here,

    __global__ __device__ __host__ __constant__ __managed__ __grid_constant__
    __shared__       ->  __cusim_global__ and so on (after __cusim_shared__ a
                         declaration is rewritten, see shared.py)

The C library uses __noinline__ as an attribute, so it is not a macro. It is replaced
here. The header defines everything else: __launch_bounds__(...) expands to nothing,
__align__(n) to an attribute, __forceinline__ to inline. __cluster_dims__ stays
undefined and is refused.
"""

from __future__ import annotations

import re
import sys

from cusim.edits import Edits, Refused
from cusim.launches import rewrite_launches
from cusim.loops import mark_loops
from cusim.refusals import refuse_words
from cusim.scopes import GLOBAL, find_scopes
from cusim.shared import rewrite_shared
from cusim.tokens import Tokens, tokenize

_DROPPED = frozenset(
    f"__cusim_{word}__"
    for word in ("global", "device", "host", "constant", "managed", "grid_constant")
)
_IN_HEADERS = re.compile("|".join(sorted(_DROPPED)))
# clang wants a loop right behind it, where --loops puts an `if`
_UNROLL = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+(\w+[ \t]+)*?(no)?unroll\b.*$", re.M)


def rewrite(text: str, *, loops: bool = False) -> str:
    """The text as C++. Raises Refused if it holds what cusim does not run."""
    text = _UNROLL.sub("", text) if loops else text
    tokens = tokenize(text)
    scopes = find_scopes(tokens)
    edits = Edits(tokens)
    for i, token in enumerate(tokens.all):
        if token.text in _DROPPED:
            edits.drop(token)
        elif token.text == "__noinline__" and not tokens.is_text(i - 1, "(", ","):
            edits.replace(token, "__attribute__((noinline))")
    refuse_words(tokens, edits)
    rewrite_launches(tokens, scopes, edits)
    rewrite_shared(tokens, scopes, edits)
    _mark_ends(tokens, edits)
    if loops:
        mark_loops(tokens, scopes, edits)
    if edits.refusals:
        raise Refused(sorted(edits.refusals, key=lambda refusal: refusal.line))
    for start, end in tokens.system:
        for match in _IN_HEADERS.finditer(text, start, end):
            edits.replaced[match.start()] = (match.end(), "")
    return edits.apply()


def _mark_ends(tokens: Tokens, edits: Edits) -> None:
    """Tell of threads that come to the end of a kernel's body, by no `return`."""
    for i, token in enumerate(tokens.all):
        if token.text != GLOBAL:
            continue
        while i < len(tokens.all) and not tokens.is_text(i, ";", "{"):
            i = tokens.pair.get(i, i) + 1
        if tokens.is_text(i, "{") and i in tokens.pair:
            end = tokens.all[tokens.pair[i]]
            edits.insert(end, "::cusim::end_of_kernel(); ")


def main() -> int:
    """Standard input to standard output; 1 and sentences if something is refused."""
    try:
        loops = "--loops" in sys.argv[1:]
        sys.stdout.write(rewrite(sys.stdin.read(), loops=loops))
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
