# SPDX-License-Identifier: MIT
"""The contract is written twice, in C and in Python: here the two are compared.

common/operators.h is parsed and held against signatures.SIGNATURES, both against
PyTorch where it has the function, and the headers are compiled by every compiler that
will meet them. It is longer than other tests because all its parts read one header.
"""

from __future__ import annotations

import ast
import ctypes
import inspect
import itertools
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch
from signatures import REQUIRED, SIGNATURES, Argument, Signature
from torch.nn import functional as F

from tests import ROOT, put

COMMON = ROOT / "common"
HEADER = (COMMON / "operators.h").read_text()
CODE = re.sub(r"/\*.*?\*/|//[^\n]*", "", HEADER, flags=re.DOTALL)
DIRECTIONS = ("forward", "backward")

every_operator = pytest.mark.parametrize(
    "signature", SIGNATURES.values(), ids=list(SIGNATURES)
)
every_direction = pytest.mark.parametrize("direction", DIRECTIONS)


# ---- what operators.h says ----


def declared(pattern: str) -> dict[str, list[str]]:
    """Names and parameters of the functions that a pattern finds in the header."""
    found = {}
    for name, parameters in re.findall(pattern, CODE):
        assert name not in found, f"{name} is declared twice"
        found[name] = [" ".join(one.split()) for one in parameters.split(",")]
    return found


PROTOTYPES = declared(r"\nstatus_t (\w+)\(([^)]*)\);")
FUNCTION_TYPES = declared(r"\ntypedef status_t\s(\w+)\(([^)]*)\);")


def struct_fields(name: str) -> list[tuple[str, str]]:
    """The fields of an options struct: C type and name."""
    body = re.search(rf"typedef struct {{([^}}]*)}} {name}_params_t;", CODE)
    if not body:
        return []
    lines = re.findall(r"(\w+) ([\w, ]+);", body[1])
    return [(kind, field) for kind, names in lines for field in names.split(", ")]


def comment(name: str) -> str:
    """The comment above an operator, without its stars."""
    found = re.search(rf"/\* ---- {name} -+\n(.*?)\*/", HEADER, re.DOTALL)
    assert found, f"operators.h has no section {name}"
    return re.sub(r"^ \* ?", "", found[1], flags=re.MULTILINE)


@dataclass(frozen=True)
class Shape:
    """One entry of a `shapes` block."""

    text: str  # "(N, IC, IH, IW)"
    words: str  # what follows, to the next entry


def shapes(name: str) -> dict[str, Shape]:
    """The `shapes` block of an operator, by tensor."""
    block = re.search(r"\n  shapes(.*?)\n  workspace", comment(name), re.DOTALL)
    assert block, f"{name} has no shapes"
    parts = re.split(r"\b(\w+) (\([^)]*\))", " ".join(block[1].split()))
    entries = zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    return {tensor: Shape(text, words) for tensor, text, words in entries}


# ---- (a) C and Python say the same ----


def expected(signature: Signature, direction: str) -> list[str]:
    """The parameters that a function must have, by SIGNATURES."""
    results = [argument.name for argument in signature.outputs]
    saved = [argument.name for argument in signature.saved]
    if direction == "forward":
        inputs = [argument.name for argument in signature.inputs]
        outputs = [*results, *saved]
    else:
        inputs = [f"grad_{name}" for name in results] + list(signature.backward)
        outputs = [f"grad_{name}" for name in signature.gradients]
    return [
        "ctx_t *ctx",
        *(f"const tensor_t *{name}" for name in inputs),
        *([f"{signature.name}_params_t p"] if signature.options else []),
        *(f"tensor_t *{name}" for name in outputs),
    ]


@every_direction
@every_operator
@pytest.mark.parametrize(
    ("suffix", "declared"),
    [("", PROTOTYPES), ("_check", PROTOTYPES), ("_fn", FUNCTION_TYPES)],
    ids=["prototype", "check", "function_type"],
)
def test_a_declaration_has_the_arguments_of_the_signature(
    signature, direction, suffix, declared
):
    declaration = declared[f"{signature.name}_{direction}{suffix}"]
    assert declaration == expected(signature, direction)


def test_header_declares_nothing_else_and_operators_come_in_the_same_order():
    pairs = list(itertools.product(SIGNATURES, DIRECTIONS))
    assert set(FUNCTION_TYPES) == {f"{name}_{way}_fn" for name, way in pairs}
    functions = {f"{name}_{way}" for name, way in pairs}
    assert set(PROTOTYPES) == functions | {f"{name}_check" for name in functions}
    assert re.findall(r"/\* ---- (\w+) -+\n", HEADER) == list(SIGNATURES)


@every_operator
def test_options_are_those_of_the_signature_choices_counted_from_1(signature):
    kinds = {"float": "double", "int": "int64_t", "choice": "int64_t"}
    fields = [
        (kinds[option.kind], field)
        for option in signature.options
        for field in option.fields
    ]
    assert struct_fields(signature.name) == fields
    for option in signature.options:
        for number, choice in enumerate(option.choices, start=1):
            constant = f"{signature.name}_{choice}".upper()
            assert re.search(rf"\b{constant} = {number}\b", CODE)


def tensors(signature: Signature) -> tuple[Argument, ...]:
    """All tensors of an operator's forward."""
    return (*signature.inputs, *signature.outputs, *signature.saved)


@every_operator
def test_shapes_are_those_of_the_signature_and_say_which_may_be_null(signature):
    entries = shapes(signature.name)
    written = {name: shape.text for name, shape in entries.items()}
    assert written == {tensor.name: tensor.shape for tensor in tensors(signature)}
    optional = {tensor.name for tensor in signature.inputs if tensor.optional}
    assert optional == {
        name for name, shape in entries.items() if shape.words.startswith(" or NULL")
    }


@every_operator
def test_shapes_say_what_is_saved_and_in_which_dtype(signature):
    entries = shapes(signature.name)
    following = ""
    for tensor in reversed(tensors(signature)):
        own = entries[tensor.name].words.strip()
        words = own or (following if following.startswith(", both") else "")
        following = own
        said = set(re.findall(r"\b(accum|i32|i64|saved)\b", words))
        saved = {"saved"} if tensor in signature.saved else set()
        assert said == saved | ({tensor.dtype} - {"real"}), tensor.name


# ---- PyTorch's names, order and defaults ----


@dataclass(frozen=True)
class Parameter:
    """A parameter of a Python function, as far as it is compared."""

    name: str
    default: object
    keyword_only: bool


def parameters_of(signature: Signature) -> list[Parameter]:
    """The parameters of lab 01's function."""
    tensors = [
        Parameter(
            tensor.name, None if tensor.optional else REQUIRED, keyword_only=False
        )
        for tensor in signature.inputs
    ]
    options = [
        Parameter(
            option.name,
            REQUIRED if option.default is REQUIRED else option.values(option.default),
            option.keyword_only,
        )
        for option in signature.options
    ]
    return tensors + options


def compared(signature: Signature, name: str, default: object) -> object:
    """PyTorch's default in the form of ours: a number for each axis."""
    option = {option.name: option for option in signature.options}.get(name)
    return option.values(default) if option and default is not REQUIRED else default


def parameters_of_torch(signature: Signature, function: object) -> list[Parameter]:
    """The parameters of a PyTorch function, from its schema or its Python source."""
    if isinstance(function, torch._ops.OpOverload):
        found = [
            (
                "input" if one.name == "self" else one.name,
                one.default_value if one.has_default_value() else REQUIRED,
                one.kwarg_only,
            )
            for one in function._schema.arguments
        ]
    else:
        found = [
            (
                one.name,
                REQUIRED if one.default is one.empty else one.default,
                one.kind is one.KEYWORD_ONLY,
            )
            for one in inspect.signature(function).parameters.values()
        ]
    return [
        Parameter(name, compared(signature, name, default), keyword_only)
        for name, default, keyword_only in found
    ]


aten = torch.ops.aten
IN_TORCH = {  # the function, and the arguments of it that we do not have
    "add": (aten.add.Tensor, ()),
    "matmul": (aten.matmul.default, ()),
    "linear": (aten.linear.default, ()),
    "unfold": (F.unfold, ()),
    "conv2d": (aten.conv2d.default, ()),
    "depthwise_conv2d": (aten.conv2d.default, ("groups",)),  # always IC
    "gelu": (aten.gelu.default, ()),
    "layer_norm": (F.layer_norm, ("normalized_shape",)),  # always (D,)
}


@pytest.mark.parametrize("name", IN_TORCH)
def test_names_order_and_defaults_are_those_of_torch(name):
    function, left_out = IN_TORCH[name]
    theirs = parameters_of_torch(SIGNATURES[name], function)
    assert parameters_of(SIGNATURES[name]) == [
        one for one in theirs if one.name not in left_out
    ]


@pytest.mark.parametrize("name", [name for name in IN_TORCH if "depthwise" not in name])
def test_the_call_under_the_title_is_that_of_the_signature(name):
    text = comment(name).replace("normalized_shape=(D,), ", "")
    call = re.match(r"torch\.[\w.]+(\([^)]*\))", text)
    assert call, f"{name} does not begin with the call of PyTorch that it means"
    function = ast.parse(f"def call{call[1]}: ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    written = function.args
    names = [one.arg for one in (*written.args, *written.kwonlyargs)]
    given = (*written.defaults, *written.kw_defaults)
    defaults = [ast.literal_eval(one) for one in given]
    defaults = [REQUIRED] * (len(names) - len(defaults)) + defaults
    ours = parameters_of(SIGNATURES[name])
    assert names == [one.name for one in ours]
    assert [one.arg for one in written.kwonlyargs] == [
        one.name for one in ours if one.keyword_only
    ]
    assert [one.default for one in ours] == [
        compared(SIGNATURES[name], *pair) for pair in zip(names, defaults, strict=True)
    ]


# ---- (b) the headers compile everywhere ----

WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]
COMPILERS = {
    "gcc": ["gcc", "-std=c11", *WARNINGS],
    "clang": ["clang", "-std=c11", *WARNINGS],
    "g++": ["g++", "-std=c++17", *WARNINGS],
    "clang++": ["clang++", "-std=c++17", *WARNINGS],
    "nvcc": [
        "nvcc",
        "-std=c++17",
        "-Werror=all-warnings",
        f"-Xcompiler={','.join(WARNINGS)}",
    ],
}
SUFFIX = {"gcc": ".c", "clang": ".c", "g++": ".cpp", "clang++": ".cpp", "nvcc": ".cu"}
USER = """
#include "operators.h"

#ifdef __CUDACC__
#include "launch.h"

static __global__ void kernel(tensor_t t, real *where)
{
    const int64_t first = tensor_offset(&t, t.ndim, 0) + conv2d_extent(5, 3, 1, 0, 1);
    *where = (real)real_erf(*at5(&t, first, 0, 0, 0, 0));
}

int64_t launch(tensor_t t);
int64_t launch(tensor_t t)
{
    kernel<<<1, 1>>>(t, real_data(&t));
    return tensor_numel(&t);
}
#endif

int64_t use(const tensor_t *t, ctx_t *ctx);
int64_t use(const tensor_t *t, ctx_t *ctx)
{
    const real *dense = tensor_contiguous(ctx, t);
    const accum x = real_exp(*at1(t, 0)) + real_expm1(*at2(t, 0, 0)) + dense[0] +
                    real_tanh(*at3(t, 0, 0, 0)) + real_sqrt(*at4(t, 0, 0, 0, 0));
    return x > 0 ? tensor_numel(t) : tensor_count(t, 1);
}
"""


@pytest.mark.parametrize("dtype", ["REAL_F32", "REAL_F64"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_headers_compile_without_a_warning(compiler, dtype, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} not found")
    source = put(tmp_path / f"user{SUFFIX[compiler]}", USER)
    flags = [f"-D{dtype}", "-I", str(COMMON), "-c", str(source)]
    command = [*COMPILERS[compiler], *flags, "-o", str(source.with_suffix(".o"))]
    result = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert (result.returncode, result.stderr) == (0, "")


def gcc(*words: str) -> None:
    """The compiler, with the headers; it has to have nothing to say."""
    command = ["gcc", "-std=c11", "-I", str(COMMON), *words]
    subprocess.run(command, check=True, timeout=60)


@pytest.mark.parametrize("header", ["tensor.h", "context.h", "real.h", "operators.h"])
def test_each_header_includes_what_it_needs(header, tmp_path):
    source = put(tmp_path / "alone.c", f'#include "{header}"\n' * 2)
    gcc(*WARNINGS, "-fsyntax-only", str(source))


# ---- (c) options have the same bytes ----


def example_options(signature: Signature) -> dict[str, object]:
    """A different value for every field."""
    numbers = itertools.count(3)
    values = {}
    for option in signature.options:
        if option.kind == "choice":
            values[option.name] = option.choices[-1]
        elif option.axes:
            values[option.name] = tuple(next(numbers) for _ in option.axes)
        else:
            values[option.name] = next(numbers) + (0.5 if option.kind == "float" else 0)
    return values


def assignments(signature: Signature) -> Iterator[str]:
    """C statements that fill the options struct with the example, by name."""
    example = example_options(signature)
    for option in signature.options:
        value = example[option.name]
        if option.kind == "choice":
            constant = f"{signature.name}_{value}".upper()
            yield f"p.{option.name} = {constant};"
            continue
        for field, number in zip(option.fields, option.values(value), strict=True):
            yield f"p.{field} = {number};"


@pytest.mark.parametrize("name", [name for name in SIGNATURES if struct_fields(name)])
def test_packed_options_are_the_struct_byte_for_byte(name, tmp_path):
    signature = SIGNATURES[name]
    source = put(
        tmp_path / "options.c",
        '#include <stdio.h>\n#include "operators.h"\n'
        f"int main(void)\n{{\n    {signature.name}_params_t p;\n    "
        + "\n    ".join(assignments(signature))
        + "\n    return fwrite(&p, sizeof p, 1, stdout) == 1 ? 0 : 1;\n}\n",
    )
    gcc("-Wall", "-Werror", str(source), "-o", str(tmp_path / "options"))
    written = subprocess.check_output([tmp_path / "options"], timeout=10)
    assert written == signature.pack(example_options(signature))


# ---- (d) sizes are those of PyTorch ----


@pytest.fixture(scope="module")
def extent(tmp_path_factory):
    folder = tmp_path_factory.mktemp("extent")
    names = ("in", "kernel", "stride", "padding", "dilation")
    source = put(
        folder / "extent.c",
        '#include "operators.h"\n'
        f"int64_t extent({', '.join(f'int64_t {name}' for name in names)})\n"
        f"{{\n    return conv2d_extent({', '.join(names)});\n}}\n",
    )
    gcc("-shared", "-fPIC", str(source), "-o", str(folder / "extent.so"))
    function = ctypes.CDLL(str(folder / "extent.so")).extent
    function.argtypes = [ctypes.c_int64] * len(names)
    function.restype = ctypes.c_int64
    return function


def height_by_torch(IH: int, KH: int, **options: int) -> int:
    """The height of torch.conv2d's output, 0 if it refuses the kernel as too large."""
    image = torch.empty(1, 1, IH, 1, device="meta")
    weight = torch.empty(1, 1, KH, 1, device="meta")
    pairs = {name: (value, 0) for name, value in options.items() if name == "padding"}
    pairs |= {name: (value, 1) for name, value in options.items() if name != "padding"}
    try:
        return F.conv2d(image, weight, **pairs).shape[2]
    except RuntimeError as error:
        assert "Kernel size can't be greater than actual input size" in str(error)
        return 0


@pytest.mark.parametrize("dilation", [1, 2, 3])
@pytest.mark.parametrize("padding", [0, 1, 2, 5])
@pytest.mark.parametrize("stride", [1, 2, 3, 7])
def test_extent_is_the_size_that_torch_gives(extent, stride, padding, dilation):
    for IH, KH in itertools.product(range(1, 9), range(1, 6)):
        options = {"stride": stride, "padding": padding, "dilation": dilation}
        theirs = height_by_torch(IH, KH, **options)
        assert extent(IH, KH, stride, padding, dilation) == theirs, (IH, KH)


def test_unfold_has_the_columns_that_torch_gives(extent):
    kernel, dilation, padding, stride = (3, 2), (1, 2), (1, 0), (2, 1)
    image = torch.zeros(2, 3, 7, 6)
    theirs = F.unfold(image, kernel, dilation, padding, stride)
    axes = zip(image.shape[2:], kernel, stride, padding, dilation, strict=True)
    OH, OW = (extent(*axis) for axis in axes)
    assert theirs.shape == (2, 3 * 3 * 2, OH * OW)
