# SPDX-License-Identifier: MIT
"""convlab.load: rungs as PyTorch functions that copy nothing and say what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import convlab
import pytest
import torch
from convlab._native import function_in
from convlab._operator import Code, COperator
from signatures import SIGNATURES

SEED = 7

COUNTED = "const int64_t COUNT = tensor_numel(output); real *y = real_data(output);"


@pytest.fixture
def operator(
    compile_rung: Callable[[str], dict[str, Path]],
) -> Callable[[str, str], COperator]:
    """An operator from the text of a C file that is no rung of the labs."""

    def made(name: str, source: str) -> COperator:
        libraries = compile_rung(f'#include "operators.h"\n{source}')
        code = {}
        for direction in ("forward", "backward"):
            symbol = f"{name}_{direction}"
            address = {k: function_in(file, symbol) for k, file in libraries.items()}
            if all(address.values()):
                code[direction] = Code("labs/mine.c", address)
        return COperator(name, code)

    return made


def gelu(body: str) -> str:
    return (
        "status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,\n"
        f"tensor_t *output)\n{{ {COUNTED} (void)p; {body} return STATUS_OK; }}\n"
    )


# ---- values --------------------------------------------------------------------------


@pytest.mark.parametrize("name", SIGNATURES)
def test_every_operator_gives_pytorchs_numbers_on_all_cases(name):
    report = convlab.check(convlab.load(f"02_naive_c/{name}"), name, SEED)
    assert report, report
    assert [line.name for line in report.lines][-1] == "gradcheck"
    assert all(line.cases > 0 for line in report.lines)


@pytest.mark.parametrize("name", ["add", "unfold"])
def test_a_file_of_lab_01_is_loaded_as_it_is(name):
    loaded = convlab.load(f"01_python_function/{name}")
    assert convlab.check(loaded, name, SEED)
    assert loaded.files["backward"].endswith(".py")
    assert issubclass(getattr(loaded, SIGNATURES[name].module), torch.nn.Module)


def wide(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64)


@pytest.mark.parametrize(
    ("name", "inputs", "call"),
    [
        pytest.param(
            "conv2d",
            [
                wide(5, 6, 2, 2).permute(3, 2, 1, 0)[:, :, 1:],
                wide(2, 1, 2, 6)[..., ::2],
                wide(1).expand(2).clone(),
            ],
            lambda f, t: f(*t, stride=(2, 1), padding=(1, 0), groups=2),
            id="strided_views",
        ),
        pytest.param(
            "layer_norm",
            [wide(3, 4).T],
            lambda f, t: f(*t, eps=0.1),
            id="saved_tensors",
        ),
        pytest.param(
            "lltm",
            [wide(2, 3), wide(12, 7), wide(12), wide(2, 4), wide(2, 4)],
            lambda f, t: f(*t)[1],
            id="an_unused_result_of_two",
        ),
    ],
)
def test_gradcheck_accepts(name, inputs, call):
    function = convlab.load(f"02_naive_c/{name}")
    given = [tensor.requires_grad_() for tensor in inputs]
    assert torch.autograd.gradcheck(lambda *t: call(function, t), given)


def test_a_gradient_may_come_expanded_and_only_the_wanted_one_is_made():
    conv = convlab.load("02_naive_c/conv2d")
    x, w = torch.randn(1, 1, 4, 4), torch.randn(1, 1, 2, 2, requires_grad=True)
    conv(x, w).sum().backward()  # sum hands back one number with strides of 0
    theirs = torch.nn.functional.conv2d(x, w).sum()
    torch.testing.assert_close(w.grad, torch.autograd.grad(theirs, w)[0])
    assert x.grad is None


def test_an_empty_batch_gives_an_empty_result_and_gradients_of_zero():
    conv = convlab.load("02_naive_c/conv2d")
    x = torch.zeros(0, 2, 3, 3, requires_grad=True)
    w = torch.ones(1, 2, 2, 2, requires_grad=True)
    result = conv(x, w)
    result.sum().backward()
    assert result.shape == (0, 1, 2, 2)
    assert w.grad.eq(0).all()
    assert x.grad.shape == x.shape


# ---- no copies, no lock --------------------------------------------------------------


@pytest.mark.parametrize(
    "cut",
    [lambda t: t, lambda t: t.T, lambda t: t[1:, ::2], lambda t: t[2:3].expand(6, 8)],
    ids=["whole", "transposed", "cut", "expanded"],
)
def test_c_reads_the_tensors_own_memory_whatever_its_strides(operator, cut):
    fill = "for (int64_t i = 0; i < COUNT; i++) y[i] = "
    address = operator("gelu", gelu(f"{fill}(real)(uintptr_t)input->data;"))
    second = operator("gelu", gelu(f"{fill}(real)input->stride[1];"))
    given = cut(torch.zeros(6, 8, dtype=torch.float64))
    assert address(given).unique().item() == given.data_ptr()
    assert second(given).unique().item() == given.stride(1)


def test_a_view_says_what_c_is_given():
    base = torch.zeros(6, 8)
    seen = convlab.view(base[2:, 1::3])
    assert seen.data == base.data_ptr() + 4 * (2 * 8 + 1)
    assert (seen.size, seen.stride, seen.dtype) == ((4, 3), (8, 3), "f32")


def test_two_threads_are_inside_an_operator_at_the_same_time(operator):
    both = operator(
        "gelu",
        "#include <stdatomic.h>\n#include <time.h>\nstatic atomic_int inside;\n"
        + gelu(
            "const time_t start = time(NULL); (void)COUNT; y[0] = 1; inside++;"
            "while (inside < 2)"
            "    if (time(NULL) > start + 20) return STATUS_CUDA_ERROR;"
        ),
    )
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda _: both(torch.zeros(1)).item(), range(2))
    assert list(found) == [1, 1]


def test_scratch_is_aligned_separate_and_given_back(operator):
    hungry = operator(
        "gelu",
        "#include <string.h>\n"
        + gelu(
            "char *a = ctx_scratch(ctx, 1 << 22), *b = ctx_scratch(ctx, 1 << 22);"
            "if (!a || !b) return STATUS_NO_MEMORY;"
            "memset(a, 1, 1 << 22); memset(b, 2, 1 << 22); (void)COUNT;"
            "y[0] = (uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0 && a[9] == 1;"
        ),
    )

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    assert hungry(torch.zeros(1)).item() == 1
    before = resident()
    for _ in range(30):
        hungry(torch.zeros(1))
    assert resident() - before < 100 << 20  # all of it together is 250 MB


def test_saved_tensors_are_absent_unless_backward_follows(operator):
    called = operator(
        "layer_norm",
        "status_t layer_norm_forward(ctx_t *ctx, const tensor_t *input,\n"
        "const tensor_t *weight, const tensor_t *bias, layer_norm_params_t p,\n"
        "tensor_t *output, tensor_t *mean, tensor_t *rstd)\n"
        f"{{ {COUNTED} (void)p; y[COUNT - 1] = mean && rstd; return STATUS_OK; }}\n",
    )
    x = torch.zeros(1, 1, requires_grad=True)
    assert called(x).item() == 1
    assert called(x.detach()).item() == 0
    with torch.no_grad():
        assert called(x).item() == 0


# ---- what C answers ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        ("return STATUS_NOT_IMPLEMENTED;", NotImplementedError, "not written yet"),
        ("return STATUS_NO_MEMORY;", RuntimeError, "STATUS_NO_MEMORY"),
        (
            "ctx->error[0] = 'h'; ctx->error[1] = 'i'; return STATUS_CUDA_ERROR;",
            RuntimeError,
            "STATUS_CUDA_ERROR: hi",
        ),
        ("return 77;", RuntimeError, "returned 77, which is not an allowed"),
    ],
)
def test_a_status_becomes_an_exception_that_names_the_file(
    operator, body, error, words
):
    function = operator("gelu", gelu(f"(void)COUNT, (void)y; {body}"))
    with pytest.raises(error, match=rf"labs/mine\.c: gelu_forward .*{words}"):
        function(torch.zeros(2))


def test_a_direction_that_no_file_has_is_named(operator):
    function = operator("gelu", gelu("(void)COUNT; y[0] = 1;"))
    result = function(torch.zeros(1, requires_grad=True))
    with pytest.raises(NotImplementedError, match="gelu_backward is not defined"):
        result.backward()


def test_a_second_derivative_is_refused_also_through_saved_tensors():
    conv = convlab.load("02_naive_c/conv2d")
    x = torch.randn(1, 1, 3, 3, requires_grad=True)
    w = torch.randn(1, 1, 2, 2, requires_grad=True)
    (first,) = torch.autograd.grad(conv(x, w).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="conv2d: cannot be differentiated twice"):
        first.pow(2).sum().backward()


# ---- arguments -----------------------------------------------------------------------

X, W = torch.zeros(2, 3, 5, 5), torch.zeros(4, 3, 2, 2)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        ((X, W.double()), {}, ValueError, "'weight' is torch.float64, .*torch.float32"),
        ((X.long(), W), {}, ValueError, "'input' is torch.int64, expected torch.float"),
        ((X.half(), W.half()), {}, ValueError, "'input' is torch.float16"),
        ((X, W, torch.zeros(4).bool()), {}, ValueError, "'bias' is torch.bool"),
        ((X.to("meta"), W), {}, ValueError, "'input' is on meta, expected cpu"),
        ((X[0], W), {}, ValueError, r"'input' must be \(N, IC, IH, IW\), got \(3, 5, "),
        ((X.reshape(1, 1, 1, 2, 3, 5, 5), W), {}, ValueError, "has 7 axes, .* 6"),
        ((X, W[:, :2]), {}, ValueError, "'weight'.*2.*'input'.*3"),
        ((X, W, torch.zeros(5)), {}, ValueError, r"'bias' must be \(4\).*got \(5\)"),
        ((X, W), {"stride": 0}, ValueError, "stride_h is 0, expected at least 1"),
        ((X, W), {"padding": (0, -1)}, ValueError, "padding_w is -1"),
        ((X, W), {"dilation": 1 << 70}, ValueError, "does not fit into int64_t"),
        ((X, W), {"groups": 2}, ValueError, "groups is 2"),
        ((X, W), {"dilation": 9}, ValueError, "spans 10, 'input' has 5"),
        ((X, W), {"padding": "same"}, TypeError, "padding must be an int or two ints"),
        ((X, W), {"stride": (1, 2, 3)}, TypeError, "stride must be an int or two ints"),
        ((X, W), {"groups": True}, TypeError, "groups must be an int, got True"),
        ((X, W), {"strides": 1}, TypeError, "keyword argument 'strides'"),
        ((X,), {}, TypeError, "missing .* 'weight'"),
        (([1.0], W), {}, TypeError, "'input' must be a torch.Tensor, got list"),
        ((X, W, 0), {}, TypeError, "'bias' must be a torch.Tensor or None, got int"),
        ((X.to_sparse(), W), {}, ValueError, "'input' is torch.sparse_coo"),
    ],
)
def test_a_wrong_argument_is_named_with_what_was_expected(
    arguments, options, error, words
):
    conv = convlab.load("02_naive_c/conv2d/00")
    with pytest.raises(error, match=f"^conv2d.*{words}"):
        conv.conv2d(*arguments, **options)


def test_coordinates_are_integers_of_32_bits():
    conv = convlab.load("02_naive_c/subm_conv3d")
    features, places = torch.zeros(2, 3), torch.tensor([[0, 1, 1, 1], [0, 1, 1, 1]])
    weight = torch.zeros(4, 3, 3, 3, 3)
    for given, words in ((places, r"torch\.int64, .*int32"), (places.int(), "twice")):
        with pytest.raises(ValueError, match=f"'coordinates'.*{words}"):
            conv(features, given, weight)


@pytest.mark.parametrize("dilation", [(1, 2), (1, 2, 3, 4), "none"])
def test_an_option_of_three_axes_takes_three_ints_or_one(dilation):
    conv = convlab.load("02_naive_c/subm_conv3d")
    points = torch.zeros(1, 2), torch.zeros(1, 4, dtype=torch.int32)
    weight = torch.zeros(4, 2, 3, 1, 5)
    assert conv(*points, weight, dilation=2).shape == (1, 4)
    assert conv(*points, weight, dilation=(1, 2, 3)).shape == (1, 4)
    with pytest.raises(TypeError, match="dilation must be an int or three ints"):
        conv(*points, weight, dilation=dilation)


def test_a_choice_is_one_of_its_words():
    with pytest.raises(ValueError, match=r"approximate must be one of .*, got 'no'"):
        convlab.load("02_naive_c/gelu").gelu(torch.zeros(1), approximate="no")


# ---- names ---------------------------------------------------------------------------


def test_a_task_takes_the_highest_file_and_a_rung_the_nearest_lower_one():
    files = convlab.load("02_naive_c/subm_conv3d").files
    assert files["forward"].endswith("00_rulebook.c")
    assert files["backward"].endswith("01_rulebook_backward.c")
    rung = convlab.load("02_naive_c/subm_conv3d/01")
    assert (rung.files, rung.id[-2:]) == (files, "rd")
    lower = convlab.load("labs/02_naive_c/conv2d/00_definition.c")
    assert set(lower.files.values()) == {"labs/02_naive_c/conv2d/00_definition.c"}
    assert "forward   labs/02_naive_c/conv2d/00_definition.c" in repr(lower)


def test_a_direction_that_is_missing_below_is_shown_as_missing():
    only = convlab.load("02_naive_c/subm_conv3d/00")
    assert "backward  no file defines it" in repr(only)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("02_naive_c/conv3d", "no task or rung is called .*near it: 02_naive_c/conv2d"),
        ("02", "names several tasks"),
        ("04_cuda_kernels/conv3d", "no task or rung is called"),
        ("labs/05_torch_extension/conv2d", "make build LAB=05.*convlab_ext.conv2d"),
    ],
)
def test_a_name_that_cannot_be_loaded_is_explained(name, words):
    with pytest.raises(convlab.LoadError, match=words):
        convlab.load(name)


def test_a_check_may_allow_what_winograd_rounds() -> None:
    def rounded(*given: torch.Tensor, **options: object) -> torch.Tensor:
        exact = torch.nn.functional.conv2d(*given, **options)
        sizes = exact.detach().nan_to_num(0.0, 0.0, 0.0).abs().flatten()
        off = sizes.max(dim=0)[0] if exact.numel() else 0
        return exact + off * 2e-6 * (exact.dtype.itemsize == 4)

    assert not convlab.check(rounded, "conv2d", 1, backward=False)
    assert convlab.check(rounded, "conv2d", 1, backward=False, numerics="winograd")
    with pytest.raises(ValueError, match="expected one of direct, winograd"):
        convlab.check(rounded, "conv2d", 1, numerics="single")
