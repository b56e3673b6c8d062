# SPDX-License-Identifier: MIT
"""The source step of cusim: text in, text out; torture.cu runs the result.

The texts are what the preprocessor leaves: __global__ has become __cusim_global__.
"""

from __future__ import annotations

import re

import pytest
from cusim.edits import Refused
from cusim.messages import shorten
from cusim.rewrite import rewrite

KERNEL = "__cusim_global__ void k(int *p, int n) {}\n"
DEDUCED = "template <class T> __cusim_global__ void d(T *p, T n = 0) {}\n"
END = " ::cusim::end_of_kernel(); }"  # of a kernel's body


def words(text: str) -> str:
    """Text with single spaces."""
    return re.sub(r"\s+", " ", text).strip()


def in_host(code: str, before: str = KERNEL) -> str:
    """What becomes of a statement in main."""
    text = rewrite(f"{before}int main() {{ {code} }}\n")
    return words(text.splitlines()[-1])[len("int main() { ") : -len(" }")]


def in_kernel(code: str) -> str:
    """What becomes of a statement in a kernel."""
    text = words(rewrite(f"__cusim_global__ void k() {{ {code} }}\n"))
    return text.removeprefix("void k() { ").removesuffix(END)


def refusal(text: str) -> str:
    """The only sentence about a text, with file and line."""
    with pytest.raises(Refused) as caught:
        rewrite('# 1 "a.cu"\n' + text)
    assert len(caught.value.refusals) == 1
    return str(caught.value)


# ---- launches ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("launch", "call"),
    [
        ("k<<<1, 2>>>(p, 3);", '(k, "k", ::cusim::config(1, 2))(p, 3);'),
        ("k<<<g, b, 4, s>>>(p, 3);", '(k, "k", ::cusim::config(g, b, 4, s))(p, 3);'),
        ("k << <1, 2 >> >(p, 3);", '(k , "k", ::cusim::config(1, 2 ))(p, 3);'),
        ("::k<<<1, 2>>>(p, 3);", '(::k, "::k", ::cusim::config(1, 2))(p, 3);'),
        (
            "a::b<c>::k<<<1, 2>>>();",
            '(a::b<c>::k, "a::b<c>::k", ::cusim::config(1, 2))();',
        ),
        ("t[1]<<<1, 2>>>(p);", '(t[1], "t[1]", ::cusim::config(1, 2))(p);'),
        ("f(x, y)<<<1, 2>>>(p);", '(f(x, y), "f(x, y)", ::cusim::config(1, 2))(p);'),
        ("x.y->k<<<1, 2>>>(p);", '(x.y->k, "x.y->k", ::cusim::config(1, 2))(p);'),
        ("k<<<1, n<int>>>>(p, 1);", '(k, "k", ::cusim::config(1, n<int>))(p, 1);'),
        ("k<<<1, n >> 1>>>(p, 1);", '(k, "k", ::cusim::config(1, n >> 1))(p, 1);'),
        (
            "k<<<a<b<c<3>>>(), 1>>>(p, 1);",
            '(k, "k", ::cusim::config(a<b<c<3>>>(), 1))(p, 1);',
        ),
        (
            "(c ? k : q)<<<1, 2>>>(p);",
            '((c ? k : q), "(c?k:q)", ::cusim::config(1, 2))(p);',
        ),
    ],
)
def test_a_launch_becomes_a_call(launch: str, call: str) -> None:
    assert in_host(launch) == "::cusim::launch" + call


LAUNCH = "k<<<1, 2>>>(p, 3);"
CHOICE = "(c ? k : q)<<<1, 2>>>(p, 3);"
PAIR = "template <class T, int N> __cusim_global__ void k() {}\n"


BEFORE = ("if (x) ", "else ", "for (;;) ", "do ", "return ", "a = 1, ", "(void)")
TEMPLATE = '::cusim::launch(k<f<g<int>>, 4>, "k<f<g<int>>, 4>", '
DECLARED = "__cusim_global__ void k(int *, int);\n" + KERNEL
SPACES = "namespace a { __cusim_global__ void k(float x) {} }\n" + KERNEL
OVERLOADED = "__cusim_global__ void k(float *p, int n);\n" + KERNEL


@pytest.mark.parametrize(
    ("code", "kernels", "begins"),
    [
        *(
            (before + LAUNCH, KERNEL, f"{before}::cusim::launch(")
            for before in (*BEFORE, "case 1: ")
        ),
        *(
            (before + CHOICE, KERNEL, f"{before}::cusim::launch((c ? k : q), ")
            for before in ("if (x) ", "while (f(x)) ", "else ", "(void)")
        ),
        pytest.param("k<f<g<int>>, 4><<<1, 2>>>();", PAIR, TEMPLATE, id="templates"),
        pytest.param(
            "d<int><<<1, 2>>>(p, 3);",
            DEDUCED,
            "::cusim::launch(d<int>,",
            id="a template with all arguments is one function",
        ),
        pytest.param(LAUNCH, DECLARED, "::cusim::launch(", id="a declaration"),
        pytest.param(LAUNCH, SPACES, "::cusim::launch(", id="two namespaces"),
        pytest.param(LAUNCH, OVERLOADED, "::cusim::launch_any(", id="overloads"),
    ],
)
def test_a_launch_begins(code: str, kernels: str, begins: str) -> None:
    assert in_host(code, kernels).startswith(begins)


@pytest.mark.parametrize(
    ("launch", "lambda_"),
    [
        ("d<<<1, 2>>>(p, 3);", "(auto... cusim_a) Q { d(cusim_a...); }"),
        ("d<<<1, 2>>>(p);", "(auto... cusim_a) Q { d(cusim_a...); }"),
        ("d<int><<<1, 2>>>(p);", "(auto... cusim_a) Q { d<int>(cusim_a...); }"),
        ("d<<<1, 2>>>(p, 0);", "(auto cusim_0, auto) Q { d(cusim_0, 0); }"),
        ("d<<<1, 2>>>(nullptr, n);", "(auto, auto cusim_1) Q { d(nullptr, cusim_1); }"),
        ("d<<<1, 2>>>(p, {1, 2});", "(auto cusim_0, auto) Q { d(cusim_0, {1, 2}); }"),
    ],
)
def test_a_kernel_that_its_name_does_not_tell_is_called_in_a_lambda(
    launch: str, lambda_: str
) -> None:
    out = in_host(launch, DEDUCED)
    quiet = "__attribute__((no_sanitize_thread))"
    assert out.startswith(
        "::cusim::launch_any([&]" + lambda_.replace("Q", quiet) + ", "
    )


@pytest.mark.parametrize(
    "code",
    [
        'f("k<<<1, 2>>>(p)");',
        'f(R"x(k<<<1, 2>>>(p))x");',
        "int y = a << b >> 2;",
        "s<int, (1 << 2)> z;",
        "operator<< <int>(a, b);",
        "x <<= 3, x >>= 1;",
        "int texture = 3;",
        "x.tex2D(1);",
        "int barrier;",
        "my::barrier b;",
    ],
)
def test_strings_shifts_and_names_of_the_students_own_are_left_alone(code: str) -> None:
    assert in_host(code) == words(code)


def test_only_the_end_of_a_kernels_body_is_told() -> None:
    text = DECLARED + "void f() {} template <int N = sizeof(int)> __cusim_global__ "
    text += "static void g(float (*x)[2]) { if (x) { return; } }"
    assert rewrite(text).count("end_of_kernel") == 2
    assert words(rewrite(text)).endswith("if (x) { return; }" + END)


def test_every_token_keeps_its_line() -> None:
    text = (
        KERNEL
        + "int main() {\n  k\n  <<<1,\n 2>>>\n  (p,\n 3); int here;\n}\n"
        + "__cusim_global__ void s() {\n  __cusim_shared__ float\n    a[2],\n b;"
        + " int next;\n  int last;\n}\n"
    )
    out = rewrite(text).splitlines()
    for word in ("here", "next", "last"):
        at = [i for i, line in enumerate(text.splitlines()) if word in line]
        assert [i for i, line in enumerate(out) if f"int {word}" in line] == at


# ---- system headers ------------------------------------------------------------------


def test_system_headers_pass_but_for_the_words_of_cuda() -> None:
    text = '# 1 "/usr/x.h" 1 3\nasm("x"); a <<<b>>> (c); __cusim_device__ int z;\n'
    out = rewrite('# 1 "a.cu"\n' + text + '# 2 "a.cu" 2\nint y;\n')
    assert 'asm("x"); a <<<b>>> (c);  int z;' in out


def test_a_macro_of_a_system_header_belongs_to_the_file_that_uses_it() -> None:
    before, after = '# 1 "a.cu"\nvoid f() {\n# 2 "a.cu" 3\n', '# 2 "a.cu"\n int x; }\n'
    text = before + " __cusim_shared__\n" + after
    assert "struct cusim_x { int x; };" in rewrite(text)


def test_noinline_is_an_attribute_where_the_c_library_has_not_made_it_one() -> None:
    assert "__attribute__((noinline)) int f" in rewrite("__noinline__ int f();")
    text = "__attribute__((__noinline__)) int f();"
    assert rewrite(text) == text


# ---- shared memory -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declaration", "member"),
    [
        ("__cusim_shared__ float x[8][9];", "float x[8][9]"),
        ("static __cusim_shared__ int x;", "int x"),
        ("int __cusim_shared__ x;", "int x"),
        ("volatile __cusim_shared__ int x[2];", "volatile int x[2]"),
        ("__cusim_shared__ const T *volatile x;", "const T *volatile x"),
        ("__cusim_shared__ alignas(16) float x[4];", "alignas(16) float x[4]"),
        ("__cusim_shared__ unsigned long long int x;", "unsigned long long int x"),
        ("__cusim_shared__ typename a<T>::template b<c> x[N >> 1];",
         "typename a<T>::template b<c> x[N >> 1]"),
        ("__cusim_shared__ float (*x)[4];", "float (*x)[4]"),
        ("__cusim_shared__ __attribute__((aligned(8))) a::b x;",
         "__attribute__((aligned(8))) a::b x"),
    ],
)  # fmt: skip
def test_a_shared_declaration_keeps_its_type(declaration: str, member: str) -> None:
    assert in_kernel(declaration) == (
        f"struct cusim_x {{ {member}; }}; "
        'static ::cusim::Shared cusim_site_x = {"x", "", 1}; '
        "[[maybe_unused]] auto &x = ::cusim::shared<cusim_x>(cusim_site_x).x;"
    )


def test_each_declarator_has_a_place_of_its_own() -> None:
    out = in_kernel("__cusim_shared__ f<a, b> x[2], *y, z;")
    for name, member in (("x", "x[2]"), ("y", "*y"), ("z", "z")):
        assert f"struct cusim_{name} {{ f<a, b> {member}; }};" in out


@pytest.mark.parametrize(
    ("declared", "begins"),
    [
        (
            "struct { int a; } x, y;",
            "struct cusim_type_1 { int a; }; struct cusim_x { cusim_type_1 ",
        ),
        ("union U { int a; } x;", "union U { int a; }; struct cusim_x { U x; };"),
    ],
)
def test_a_class_that_is_defined_in_the_declaration_is_defined_before_it(
    declared: str, begins: str
) -> None:
    assert in_kernel(f"__cusim_shared__ {declared}").startswith(begins)


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("float x[]", "float"),
        ("__attribute__((aligned(16))) unsigned char x[]", "unsigned char"),
        ("volatile float x[][32]", "volatile float [32]"),
        ("T *x[]", "T *"),
    ],
)
def test_dynamic_shared_memory_is_a_pointer(declared: str, kind: str) -> None:
    out = in_kernel(f"extern __cusim_shared__ {declared};")
    assert out == (
        f"using cusim_x = {kind}; [[maybe_unused]] cusim_x *const x = "
        "(cusim_x *)::cusim::dynamic_shared();"
    )


def test_dynamic_shared_memory_may_stand_outside_of_functions() -> None:
    out = rewrite("namespace a { extern __cusim_shared__ int x[]; }")
    assert "static cusim_x *const x = " in out


@pytest.mark.parametrize(
    ("captured", "body", "then"),
    [
        ("[]", "x = i;", "[&x]"),
        ("[=]", "x = i;", "[=, &x]"),
        ("[y]", "x = i;", "[y, &x]"),
        ("[&]", "x = i;", "[&]"),
        ("[&, y]", "x = i;", "[&, y]"),
        ("[]", "return a.x + i;", "[]"),
    ],
)
def test_a_lambda_captures_the_shared_memory_it_uses(
    captured: str, body: str, then: str
) -> None:
    code = f"__cusim_shared__ int x; auto f = {captured}(int i) {{ {body} }};"
    assert in_kernel(code).endswith(f"auto f = {then}(int i) {{ {body} }};")


# ---- refusals ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "word"),
    [
        ('asm volatile("wgmma.fence;");', "wgmma"),
        ('asm("cp.async.bulk.x;" :: "r"(a));', "TMA"),
        ('__asm__("mma.sync.x;");', "for mma.sync use the wrapper in ptx.h"),
        ('asm("mov.u32 %0, %laneid;" : "=r"(x));', "inline PTX"),
        ("texture<float, 2> t;", "'texture'"),
        ("float x = tex2D<float>(t, 1, 2);", "'tex2D'"),
        ("cudaTextureObject_t t;", "__restrict__"),
        ("auto g = cg::this_grid();", "whole grid"),
        ("cuda::barrier<cuda::thread_scope_block> *b;", "cuda::barrier"),
        ("cuda::pipeline<int> *b;", "cuda::pipeline"),
        ("const CUtensorMap *m;", "TMA"),
        ("auto c = cg::this_cluster();", "clusters"),
    ],
)
def test_what_cannot_run_is_refused_with_its_line(code: str, word: str) -> None:
    sentence = refusal(f"void f()\n{{\n    {code}\n}}\n")
    assert sentence.startswith("a.cu:3: error: ")
    assert word in sentence


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(
            "__cusim_global__ void __cluster_dims__(2, 1, 1) k() {}",
            "a.cu:1: error: '__cluster_dims__'",
            id="clusters",
        ),
        *(
            pytest.param(
                f"{KERNEL}{mark} void f()\n{{\n    k<<<1, 1>>>(0, 1);\n}}\n",
                "a.cu:4: error: a kernel launches another one",
                id=f"a launch by {mark}",
            )
            for mark in ("__cusim_global__", "static __cusim_device__")
        ),
        pytest.param(
            "\n__cusim_shared__ int x[4];",
            "a.cu:2: error: __shared__ 'x' is declared outside",
            id="shared memory outside of functions",
        ),
        *(
            pytest.param(
                f"__cusim_global__ void k() {{ __cusim_shared__ int x{value}; }}",
                "cannot get a value in its declaration",
                id=f"shared memory with a value{value}",
            )
            for value in (" = 3", "{3}", "(3)")
        ),
        pytest.param(
            'int a;\n# 70 "b.cuh" 1\nvoid f() { asm("x"); }\n',
            "b.cuh:70: error: ",
            id="by the line that a directive says",
        ),
    ],
)
def test_what_no_cuda_can_have_is_refused(text: str, words: str) -> None:
    assert words in refusal(text)


def test_a_function_for_host_and_device_may_launch() -> None:
    rewrite(KERNEL + "__cusim_host__ __cusim_device__ void f() { k<<<1, 1>>>(0, 1); }")


# ---- what the compiler said ----------------------------------------------------------

WRONG_ARGUMENTS = (
    "a.cu:7: error: wrong arguments of a launch: the kernel takes (float*, int), "
    "but the number of arguments passed is 1"
)


@pytest.mark.parametrize(
    ("said", "shorter"),
    [
        pytest.param(
            "a.cu:7:51: error: no match for call to "
            "'(cusim::Launch<float*, int>) (int)'\n"
            "/x/cusim/include/cusim/core.h:75:10: note:   "
            "candidate expects 2 arguments, 1 provided\n",
            WRONG_ARGUMENTS,
            id="wrong arguments of a launch, by gcc",
        ),
        pytest.param(
            "a.cu:7:5: error: no matching function for call to object of type "
            "'Launch<float*, int>'\n"
            "/x/cusim/include/cusim/core.h:75:10: note: candidate function not viable: "
            "requires 2 arguments, but 1 was provided\n",
            WRONG_ARGUMENTS,
            id="and by clang",
        ),
        pytest.param(
            "a.cu: In function 'int main()':\na.cu:2:9: error: 'y' was not declared\n",
            "a.cu:2: error: 'y' was not declared\n     2 | k<<<1, 1>>>(y);\n",
            id="the line of the cu file",
        ),
        pytest.param(
            "a.cu:1:10: fatal error: cuda/barrier: No such file or directory\n",
            "'cuda/barrier': libcu++ is not in cusim",
            id="a header of NVIDIA",
        ),
    ],
)
def test_a_compilers_words_are_shortened(said: str, shorter: str, tmp_path) -> None:
    (tmp_path / "a.cu").write_text("int x;\nk<<<1, 1>>>(y);\n")
    assert shorter in shorten(said, tmp_path)
