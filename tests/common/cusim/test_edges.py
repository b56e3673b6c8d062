# SPDX-License-Identifier: MIT
"""What lies close to a bug and is none, and bugs that lie close to what is right.

Each kernel gets x and y, 64 KB each, and stands in one small program.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import put
from tests.common.cusim.test_cusim import ran, said

PROGRAM = """#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <string.h>
%s
int main()
{
    float *x, *y;
    cudaMalloc(&x, 65536), cudaMalloc(&y, 65536);
    cudaMemset(x, 0, 65536), cudaMemset(y, 0, 65536);
    %s;
    const bool failed = cudaDeviceSynchronize() != cudaSuccess;
    cudaFree(x), cudaFree(y);
    return failed;
}
"""
WARP, HALF_A_WARP = "kernel<<<1, 32>>>(x, y)", "kernel<<<1, 16>>>(x, y)"
PACK = "struct __align__(16) Pack { float a[4]; };\n"
TAKE = """__device__ Pack take(const float *from)
{
    Pack pack;
    for (int i = 0; i < 4; i++) pack.a[i] = from[i];
    return pack;
}
"""
TURNED = """__global__ void kernel(float *x, float *y)
{
    __shared__ Pack s[32];
    const int i = threadIdx.x;
    %s;
    __syncthreads();
    y[i] = s[31 - i].a[1];
}"""


def kernel(body: str) -> str:
    return f"__global__ void kernel(float *x, float *y) {{ {body} }}"


SAME = "__shared__ float s; s = {}; __syncthreads(); y[threadIdx.x] = s;"
SUM = "{0} v = {1}(x[0]); v = v + {2}(0xffffffff, v, 16); y[threadIdx.x] = {3}(v);"
SKIPPED = "__shared__ float s[32]; s[threadIdx.x] = x[0]; if ({}) __syncthreads(); "
SKIPPED += "y[threadIdx.x] = s[threadIdx.x];"
RIGHT = {
    "a class with a copy constructor": (
        "struct Scale { float k; Scale(float k) : k(k) {} "
        "__host__ __device__ Scale(const Scale &other) : k(other.k) {} };\n"
        "__global__ void kernel(float *x, float *y, Scale by)"
        " { y[threadIdx.x] = by.k * x[threadIdx.x]; }",
        "kernel<<<1, 32>>>(x, y, Scale(2))",
    ),
    "16 KB by value": (
        "struct Table { float k[4096]; };\n"
        "__global__ void kernel(float *x, float *y, const __grid_constant__ Table by)"
        " { y[threadIdx.x] = by.k[threadIdx.x] * x[threadIdx.x]; }",
        "static Table table; kernel<<<1, 32>>>(x, y, table)",
    ),
    "a pack that a function returns": (
        PACK + TAKE + TURNED % "s[i] = take(x + 4 * i)",
        WARP,
    ),
    "a pack that a function returns to global memory": (
        PACK + TAKE + kernel("((Pack *)y)[threadIdx.x] = take(x);"),
        "float *z; cudaMalloc(&z, 512); kernel<<<1, 32>>>(x, z); "
        "kernel<<<1, 32>>>(z, y); cudaFree(z)",
    ),
    "a pack by memcpy": (PACK + TURNED % "memcpy(s + i, x + 4 * i, 16)", WARP),
    "a shuffle from a lane that is there": (
        kernel("y[threadIdx.x] = __shfl_sync(0xffffffff, x[threadIdx.x], 3);"),
        HALF_A_WARP,
    ),
    "a barrier in a condition of the block": (
        kernel(SKIPPED.format("blockIdx.x == 0")),
        WARP,
    ),
}
BUGS = {  # what is found, in which build
    "different values": ("race", "trace", SAME.format("threadIdx.x"), WARP),
    "a value that comes later": (
        "race",
        "trace",
        "for (int i = 0; i < 2; i++) y[i] = threadIdx.x / 31;",
        WARP,
    ),
    "a pack that nobody wrote": (
        "uninitialized_shared",
        "trace",
        "__shared__ float4 s[32]; y[threadIdx.x] = s[threadIdx.x].y;",
        WARP,
    ),
    "an index below 0, in 64 bits": (
        "out_of_bounds",
        "check",
        "size_t i = threadIdx.x; y[i] = x[i - 1];",
        WARP,
    ),
    "an index below 0, in 32 bits": (
        "out_of_bounds",
        "trace",
        "unsigned i = threadIdx.x; y[i] = x[i - 1];",
        WARP,
    ),
    "an index that is too large": (
        "out_of_bounds",
        "trace",
        "y[threadIdx.x] = x[threadIdx.x * 0x40000000LL];",
        WARP,
    ),
    "a shuffle of floats in half a warp": (
        "wrong_mask",
        "run",
        SUM.format("float", "", "__shfl_down_sync", ""),
        HALF_A_WARP,
    ),
    "a shuffle of half2 in half a warp": (
        "wrong_mask",
        "run",
        SUM.format("half2", "__float2half2_rn", "__shfl_xor_sync", "__low2float"),
        HALF_A_WARP,
    ),
    "a shuffle of a group in half a warp": (
        "wrong_mask",
        "run",
        "auto warp = cooperative_groups::tiled_partition<32>("
        "cooperative_groups::this_thread_block());"
        "y[threadIdx.x] = warp.shfl_xor(x[threadIdx.x], 16);",
        HALF_A_WARP,
    ),
    "a barrier for every second thread": (
        "divergent_barrier",
        "run",
        SKIPPED.format("threadIdx.x % 2"),
        WARP,
    ),
}


OPERATOR = """extern "C" void cusim_operator_begin(void);
extern "C" void cusim_operator_end(size_t least_threads, size_t elements);
struct Table { char bytes[3000]; };
__constant__ float constants[1000];
__global__ void take(Table) {}
__global__ void kernel(float *x) { x[threadIdx.x] = 1; }
__global__ void tell(int lines) { for (int i = 0; i < lines; i++) printf("%%d\\n", 0); }
#include <stdio.h>
#include <cuda_runtime.h>
int main()
{
    static char host[4096];
    float *x;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMalloc(&x, 65536);
    cusim_operator_begin();
    %s;
    if (cudaGetLastError() != cudaSuccess) return 2;
    cusim_operator_end(16, 16384);
    cudaFree(x);
    return cudaGetLastError() != cudaSuccess;
}
"""
HERE_LAUNCH = "kernel<<<1, 32, 0, stream>>>(x)"
ASYNC = "cudaMemcpyAsync(x, host, {}, cudaMemcpyHostToDevice, stream)"
SYMBOL = (
    "cudaMemcpyToSymbolAsync(constants, host, {}, 0, cudaMemcpyHostToDevice, stream)"
)
ROWS = "cudaMemcpy2D{}(x, 8, x + 64, 8, 8, 2, cudaMemcpyDeviceToDevice{})"
FROM_SYMBOL = (
    "cudaMemcpyFromSymbolAsync(host, constants, 8, 0, cudaMemcpyDeviceToHost, stream)"
)
EXCHANGED = [  # what an operator does, what is found
    (f"{HERE_LAUNCH}", []),
    (f"{HERE_LAUNCH}; {ASYNC.format(3000)}", []),
    (f"{HERE_LAUNCH}; {ASYNC.format(3100)}", ["sent"]),
    (f"{HERE_LAUNCH}; {SYMBOL.format(4000)}", ["sent"]),
    (f"{HERE_LAUNCH}; take<<<1, 1, 0, stream>>>(Table())", []),
    (
        "for (int i = 0; i < 2; i++) take<<<1, 32, 0, stream>>>(Table())",
        ["sent"],
    ),
    (f"for (int i = 0; i < 200; i++) {HERE_LAUNCH}", []),
    (
        f"for (int i = 0; i < 300; i++) {HERE_LAUNCH}, {ASYNC.format(900)}",
        ["sent"],
    ),
    ("tell<<<1, 32, 0, stream>>>(20)", []),
    ("tell<<<1, 32, 0, stream>>>(40)", ["printed"]),
    ('for (int i = 0; i < 9000; i++) printf("%d\\n", i); ' + HERE_LAUNCH, []),
    ("kernel<<<1, 32>>>(x)", ["default_stream"]),
    (f"{HERE_LAUNCH}; cudaMemset(x, 0, 8)", ["default_stream"]),
    (f"{HERE_LAUNCH}; cudaMemsetAsync(x, 0, 8, stream)", []),
    (f"{HERE_LAUNCH}; {ROWS.format('', '')}", ["default_stream"]),
    (f"{HERE_LAUNCH}; {ROWS.format('Async', ', stream')}", []),
    (f"{HERE_LAUNCH}; cudaMemcpyToSymbol(constants, host, 8)", ["default_stream"]),
    (f"{HERE_LAUNCH}; cudaMemcpyFromSymbol(host, constants, 8)", ["default_stream"]),
    (f"{HERE_LAUNCH}; {FROM_SYMBOL}", []),
    ("kernel<<<1, 8, 0, stream>>>(x); kernel<<<1, 8, 0, stream>>>(x)", ["few_threads"]),
]

READ_ONLY = """extern "C" void cusim_read_only(void *base);
#include <cuda_runtime.h>
__global__ void copy(float *y, const float *x) { y[threadIdx.x] = x[threadIdx.x]; }
__global__ void borrow(volatile float *x) { float v = *x; *x = 0; *x = v; }
__global__ void add(float *x) { atomicAdd(x, 0.0f); }
int main()
{
    float *x, *y, host[32] = {};
    cudaMalloc(&x, sizeof host);
    cudaMalloc(&y, sizeof host);
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemset(y, 0, sizeof host);
    cusim_read_only(x);
    %s;
    cudaGetLastError();
    cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
    cudaFree(x);
    cudaFree(y);
}
"""
TO_INPUT = "cudaMemcpy(x + 2, y, 8, cudaMemcpyDeviceToDevice)"
BORROWS = [  # what a program does to memory that is only read, what the error says
    ("copy<<<1, 32>>>(y, x)", ""),
    ("cudaMemcpy(y, x, 8, cudaMemcpyDeviceToDevice); cudaMemset(y, 0, 8)", ""),
    ("borrow<<<1, 1>>>(x)", "a thread writes 0 bytes into the 128 bytes"),
    ("add<<<1, 1>>>(x + 1)", "a thread writes 4 bytes into the 128 bytes"),
    (TO_INPUT, "cudaMemcpy writes 8 bytes into the 128 bytes"),
    ("cudaMemset(x, 0, 8)", "cudaMemset writes 0 bytes into the 128 bytes"),
]


def findings(folder: Path, text: str, launch: str, mode: str) -> list[str]:
    program = put(folder / "program.cu", PROGRAM % (text, launch))
    return said(ran(program, mode).report)


@pytest.mark.parametrize("name", RIGHT)
def test_what_only_looks_wrong_is_no_finding(tmp_path: Path, name: str) -> None:
    assert findings(tmp_path, *RIGHT[name], "trace") == []


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_close_to_it_is_found(tmp_path: Path, name: str) -> None:
    kind, mode, body, launch = BUGS[name]
    found = findings(tmp_path, kernel(body), launch, mode)
    assert kind in {words.split()[1] for words in found}, found


def test_one_value_that_a_warp_writes_to_one_word_is_a_note(tmp_path: Path) -> None:
    """The guide of CUDA: one of the writes is made, and it does not say which."""
    (found,) = findings(tmp_path, kernel(SAME.format("x[0]")), WARP, "trace")
    assert found.startswith("note same_value (5,): several lanes of a warp write"), (
        found
    )


def test_what_an_early_return_leaves_is_no_divergent_barrier(tmp_path: Path) -> None:
    text = f"if (threadIdx.x % 2) return; {SKIPPED.format('true')}"
    (found,) = findings(tmp_path, kernel(text), WARP, "run")
    assert found.startswith("warning early_exit"), found


@pytest.mark.parametrize(("does", "kinds"), EXCHANGED)
def test_an_operator_exchanges_little_with_the_host(
    tmp_path: Path, does: str, kinds: list[str]
) -> None:
    program = put(tmp_path / "program.cu", OPERATOR % does)
    assert [found.kind for found in ran(program, "run").report.findings] == kinds


@pytest.mark.parametrize("mode", ["check", "trace"])
@pytest.mark.parametrize(("does", "words"), BORROWS)
def test_a_write_to_memory_that_is_only_read_is_an_error(
    tmp_path: Path, does: str, words: str, mode: str
) -> None:
    report = ran(put(tmp_path / "program.cu", READ_ONLY % does), mode).report
    found = [f for f in report.findings if f.level == "error"]
    assert [f.kind for f in found] == ["read_only"] * bool(words), said(report)
    assert all(f.sentence.startswith(words) and f.lines for f in found), said(report)
