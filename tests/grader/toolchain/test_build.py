# SPDX-License-Identifier: MIT
"""A file that does not build gets one sentence: the first error, its line, its meaning.

Every broken rung is lab 02's gelu with one edit, in a copy of the repository's layout.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.commands import doctor
from grader.course import rungs, tasks
from grader.course.rungs import ROOT, Rung
from grader.engine import results
from grader.engine.answers.earlier_links import build
from grader.errors import GraderError
from grader.toolchain import make, sandbox
from grader.toolchain.products import DTYPES
from tests import put
from tests.conftest import needs_bwrap
from tests.grader.toolchain.conftest import LADDER

REFERENCE = (ROOT / "labs" / LADDER / "00_definition.c").read_text()
ENDS = "    return STATUS_OK;"


def edited(old: str, new: str) -> str:
    """The reference with its first `old` replaced."""
    assert old in REFERENCE
    return REFERENCE.replace(old, new, 1)


def line_of(text: str, part: str) -> int:
    return next(i for i, t in enumerate(text.splitlines(), 1) if part in t)


# ---- what builds ---------------------------------------------------------------------


def test_the_reference_builds_for_every_dtype_and_defines_both_directions(build_text):
    found = build_text(REFERENCE)
    assert (found.error, found.forbidden, found.location) == ("", "", None)
    assert found.directions == ("forward", "backward")
    assert set(found.libraries) == set(DTYPES)
    assert all(path.is_file() for path in found.libraries.values())


def test_a_file_may_define_one_direction_only(build_text):
    found = build_text(REFERENCE[: REFERENCE.index("status_t gelu_backward")])
    assert found.directions == ("forward",)


@pytest.mark.parametrize(
    "text",
    [
        edited(ENDS, "    int unused = 3;\n" + ENDS),
        f"// the sanitizer found this\n{REFERENCE}",
    ],
    ids=["a_warning", "a_comment_about_sanitizers"],
)
def test_some_words_do_not_stop_a_build(build_text, text):
    found = build_text(text)
    assert found.error == "" and found.libraries


def test_a_build_that_is_up_to_date_is_not_done_again(build_text, root):
    first = build_text(REFERENCE).libraries["f32"].stat().st_mtime_ns
    again = build(Rung(LADDER, root / "labs" / LADDER / "00_mine.c"))
    assert again.libraries["f32"].stat().st_mtime_ns == first


def test_flags_of_lab_toml_reach_the_compiler(build_text, root):
    build_text(REFERENCE, flags=("-Ofast",))
    recorded = next((root / "build").rglob("*.flags")).read_text()
    assert recorded.rstrip().endswith("-Ofast")


def test_changed_flags_are_a_reason_to_build_again(build_text):
    with_check = edited(ENDS, "#ifdef __FAST_MATH__\n#error fast\n#endif\n" + ENDS)
    assert build_text(with_check).error == ""
    assert "fast" in build_text(with_check, flags=("-ffast-math",)).error


# ---- what does not -------------------------------------------------------------------


HELPER = '#include "operators.h"\nvoid helper(void);'


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        pytest.param(
            edited(ENDS, "    return STATUS_OK"),
            "return STATUS_OK",
            r"semicolon is missing on this line or .* line is: return STATUS_OK$",
            id="a_missing_semicolon",
        ),
        pytest.param(  # what comes back else may read as STATUS_NOT_IMPLEMENTED
            edited(ENDS, "    // forgotten"),
            "",
            "a return is missing: an operator ends with return STATUS_OK",
            id="a_missing_return",
        ),
        pytest.param(
            edited(ENDS, "    nmae = 3;\n" + ENDS),
            "nmae",
            "'nmae' undeclared.*a typing mistake?",
            id="an_undeclared_name",
        ),
        pytest.param(
            edited("gelu_params_t p", "int p"),
            "",
            "the prototype differs from the one in common/operators.h",
            id="another_prototype",
        ),
        pytest.param(
            edited(ENDS, "    real_exp(1, 2);\n" + ENDS),
            "",
            "compare the call with the function's prototype",
            id="too_many_arguments",
        ),
        pytest.param(
            '#include "cblas_of_mine.h"\n' + REFERENCE,
            "cblas",
            "include only operators.h and headers of the C library",
            id="no_such_header",
        ),
        pytest.param(
            REFERENCE.rstrip().removesuffix("}"),
            "",
            "a closing brace is missing",
            id="a_missing_brace",
        ),
        pytest.param(
            edited('#include "operators.h"', HELPER).replace(ENDS, f" helper();{ENDS}"),
            "",
            "^calls 'helper', which no file defines",
            id="defined_nowhere",
        ),
        pytest.param(
            REFERENCE.replace("gelu_", "glu_").replace("glu_params", "gelu_params"),
            "",
            "neither 'gelu_forward' nor 'gelu_backward'.*'glu_backward', 'glu_forward'",
            id="other_names",
        ),
        pytest.param("", "", "it exports nothing", id="an_empty_file"),
        pytest.param(
            f'#line 7 "{"a" * 5000}"\n#error x\n',
            "",
            r"^a+ \.\.\.$",
            id="a_name_too_long",
        ),
    ],
)
def test_what_does_not_build_is_explained(build_text, text, line, words):
    found = build_text(text)
    assert re.search(words, found.error), found.error
    if line:
        place = f"labs/{LADDER}/00_mine.c:{line_of(text, line)}"
        assert found.location == place


def test_what_two_linkers_say_at_once_is_not_mixed(tmp_path):
    """A linker writes a line in pieces; one for each dtype runs."""
    (tmp_path / "Makefile").write_text(
        "all: f32 f64\nf32 f64:\n\tprintf 'reference to '; sleep 0.2; echo $@\n"
    )
    found = make.run_make(["-C", str(tmp_path)]).stdout
    assert sorted(found.splitlines()) == ["reference to f32", "reference to f64"]


@pytest.mark.parametrize(
    ("header", "call", "name"),
    [
        ("dlfcn.h", 'dlopen("libopenblas.so", 1)', "dlopen"),
        ("dlfcn.h", 'dlsym(NULL, "cblas_sgemm")', "dlsym"),
        ("stdlib.h", 'system("true")', "system"),
        ("stdio.h", 'popen("true", "r")', "popen"),
        ("unistd.h", 'execl("/bin/true", "true", (char *)NULL)', "execl"),
        ("unistd.h", "execvp(NULL, NULL)", "execvp"),
    ],
)
def test_loading_or_starting_other_code_is_forbidden(build_text, header, call, name):
    text = f"#define _GNU_SOURCE\n#include <{header}>\n" + REFERENCE
    found = build_text(text.replace(ENDS, f"    (void)!{call};\n" + ENDS, 1))
    assert found.forbidden == f"calls '{name}', which no file needs"
    assert not found.libraries


def test_nothing_outside_the_repository_is_quoted(build_text):
    """A #line directive could make the report quote any file of the machine."""
    found = build_text(f'{REFERENCE}\n#line 1 "/etc/passwd"\nint broken = ;\n')
    assert found.location is None  # a place is one in the rung's own file
    assert found.error.startswith("expected expression") and "root:" not in found.error


def test_a_file_that_is_gone_gets_its_own_sentence(root):
    lost = Rung(LADDER, root / "labs" / LADDER / "00_mine.c")
    assert "was removed or renamed" in build(lost).error
    assert lost.sha256  # of nothing: a report can still be written


# ---- lab.toml's flags ----------------------------------------------------------------


@pytest.mark.parametrize("flag", tasks.EXTRA_FLAGS)
def test_every_flag_of_the_allow_list_compiles(build_text, flag):
    assert build_text(REFERENCE, flags=(flag,)).error == ""


@pytest.mark.parametrize(
    "flag", ["-lopenblas", "-include", "-Wl,-rpath,/tmp", "-O3;ls"]
)
def test_a_flag_beyond_the_allow_list_is_refused(root, flag):
    put(root / "labs" / LADDER / "00_mine.c", REFERENCE)
    text = 'language = "c"\n[ladder.gelu]\npoints = 2\n[rung."gelu/00_mine"]\n'
    toml = put(root / "labs/02_naive_c/lab.toml", f'{text}flags = ["{flag}"]\n')
    with pytest.raises(GraderError, match="has the compiler flag"):
        tasks._lab(toml)


# ---- the grader's own programs -------------------------------------------------------


def test_the_tools_are_three_programs(tools):
    names = {"worker", "libworker.so", "libsupervisor.so"}
    assert names <= {path.name for path in tools.iterdir()}


def test_a_compiler_is_named_by_cc_and_one_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setenv("CC", "")
    assert make.compiler() == "cc"
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(GraderError, match=r"no C compiler \('no-such-compiler'\)"):
        make.compiler()


def test_a_compiler_may_be_named_with_words_to_call_it_with(monkeypatch):
    monkeypatch.setenv("CC", " cc  -pipe ")
    first = results.environment()["compiler"]
    assert first.startswith("cc (")
    found = {item.name: item.found for item in doctor.items()}
    assert found["C compiler (cc)"] == first


@pytest.mark.parametrize("place", ["ROOT", "CONVLAB_BUILD"])
@pytest.mark.parametrize("name", ["a b", "a#b", "o'brien", "(x)", "a:b", "a&b", "a%b"])
def test_a_path_that_make_reads_otherwise_is_refused(
    monkeypatch, tmp_path, place, name
):
    folder = tmp_path / name
    monkeypatch.setattr(rungs, "ROOT", folder if place == "ROOT" else tmp_path)
    monkeypatch.setenv("CONVLAB_BUILD", str(folder if place != "ROOT" else tmp_path))
    with pytest.raises(GraderError, match="but make cannot handle this") as caught:
        make.build_tools()
    assert str(folder) in str(caught.value)
    assert ("CONVLAB_BUILD=" in str(caught.value)) == (place == "CONVLAB_BUILD")


@pytest.mark.parametrize("empty", ["", "  "])
def test_an_empty_build_folder_is_not_the_folder_that_make_runs_in(monkeypatch, empty):
    monkeypatch.setenv("CONVLAB_BUILD", empty)
    with pytest.raises(GraderError, match="CONVLAB_BUILD= is empty"):
        make.build_tools()


def test_a_path_with_letters_of_any_language_is_none(monkeypatch, tmp_path):
    monkeypatch.setenv("CONVLAB_BUILD", str(tmp_path / "ä.b+c=d~e-f@g"))
    assert make.build_folder() == tmp_path / "ä.b+c=d~e-f@g"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_reference_builds_with_either_compiler(build_text, monkeypatch, compiler):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    monkeypatch.setenv("CC", compiler)
    assert build_text(REFERENCE).error == ""


def test_the_debug_build_keeps_every_variable(build_text):
    library = build_text(REFERENCE, mode="debug").libraries["f64"]
    command = ["readelf", "--debug-dump=info", str(library)]
    assert "-O0" in subprocess.check_output(command, text=True, timeout=30)


def test_a_rung_is_built_again_when_a_header_beside_it_changes(root, build_text):
    header = root / "labs" / LADDER / "shared.h"
    for name in ("first_name", "second_name"):
        put(header, f"__attribute__((used)) static int {name}(void)\n{{ return 1; }}\n")
        os.utime(header, (0, len(name)))  # an old date: its text counts
        found = build_text(f'#include "shared.h"\n{REFERENCE}')
        assert name.encode() in found.libraries["f32"].read_bytes()


def test_a_header_cannot_switch_off_the_sanitizers(root, build_text):
    put(root / "labs" / LADDER / "shared.h", "int x __attribute__((no_sanitize));\n")
    assert "no_sanitize" in build_text(REFERENCE).forbidden


@needs_bwrap
@pytest.mark.parametrize(
    "name", ["answers.txt", "build/grade/results.json", "given/gelu.f32.a"]
)
def test_the_compiler_sees_no_other_files(root, build_text, name):
    secret = put(root / name, "secret")
    found = build_text(f'__asm__(".incbin \\"{secret}\\"");\n{REFERENCE}')
    assert secret.name in found.error and "secret" not in found.error


@pytest.mark.parametrize(
    "text",
    [
        '__attribute__((no_sanitize("address")))\n',
        "#ifdef __SANITIZE_ADDRESS__\n#endif\n",
        "#ifndef __OPTIMIZE__\n#endif\n",
        "#ifndef __OPTI\\\nMIZE__\n#endif\n",
        "#ifdef __NO_INLINE__\n#endif\n",
        '#define PASTE(a, b) a##b\n__attribute__((PASTE(no_san, itize)("address")))\n',
        '__attribute__((no_san\\ \f\r\nitize("address")))\n',
        "#include <stdlib.h>\nenum { SEEN = __CONCAT(__builtin_const, ant_p)(1) };\n",
        "enum { SEEN = __builtin_object_size(0, 0) == 0 };\n",
        '/* */ # 7 "/usr/include/stdlib.h" 1\n',
        "extern void somebody(void) __attribute__((weak));\n"
        "void (*seen)(void) = somebody;\n",
        "extern void __asan_init(void) __attribute__((weak));\n",
        "extern void __ubsan_handle_shift(void) __attribute__((weak));\n",
    ],
)
def test_a_rung_cannot_ask_whether_it_is_watched(build_text, text):
    assert "must be the same in every build" in build_text(text + REFERENCE).forbidden


@pytest.mark.parametrize("name", ["__asan_init", "__ubsan_abort", "__sanitizer_print"])
def test_a_rung_cannot_look_for_the_sanitizers(build_text, name):
    """Under a name that is put together, so that the text does not show it."""
    head, tail = name[:5], name[5:]
    weak = f'extern char seen __asm__("{head}" "{tail}") __attribute__((weak));\n'
    found = build_text(weak + edited(ENDS, f"    if (&seen) return 7;\n{ENDS}"))
    assert found.forbidden == f"calls '{name}', which no file needs"


@pytest.mark.parametrize("entry", [".byte 1", ".quad 24, 0"])
def test_a_rung_adds_nothing_to_the_loaders_table(build_text, entry):
    asked = f'.pushsection .dynamic,\\"aw\\"\\n{entry}\\n.popsection'
    found = build_text(f'__asm__("{asked}");\n' + REFERENCE)
    assert found.forbidden.startswith("has a section '.dynamic'")


def test_a_rung_has_no_function_of_a_sanitizer(build_text):
    own = 'static void own(void) __asm__("__as" "an_report_load4");\n'
    own += "static __attribute__((used)) void own(void)\n{\n}\n"
    found = build_text(REFERENCE + own)
    assert found.forbidden == "defines '__asan_report_load4', which a sanitizer calls"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_watched_rung_sees_the_macros_of_release(compiler):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")

    def macros(mode: str) -> set[str]:
        make = ["make", "-s", "-f", "common/rung.mk", "flags", "RUNG=x", f"MODE={mode}"]
        flags = subprocess.check_output(make, cwd=ROOT, text=True).split()
        command = [compiler, *flags, "-dM", "-E", "-x", "c", "/dev/null"]
        return set(subprocess.check_output(command, cwd=ROOT, text=True).splitlines())

    assert macros("sanitize") == macros("release")
    assert len(macros("release")) > 100


def test_an_environment_that_is_a_link_is_seen_by_its_own_name(tmp_path, monkeypatch):
    """make says .venv/bin/python, behind the walls too."""
    (tmp_path / "real").mkdir()
    (tmp_path / ".venv").symlink_to("real")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    assert {tmp_path / ".venv", tmp_path / "real"} <= set(sandbox.python_paths())


@needs_bwrap
def test_a_folder_that_the_system_links_to_is_seen(tmp_path, monkeypatch):
    """As /usr/local/lib64 may be a link to CUDA's."""
    far = put(tmp_path / "far" / "file", "seen").parent
    link = tmp_path / "system" / "link"
    link.parent.mkdir()
    link.symlink_to(far)
    usual = [*sandbox.system_paths(), link.parent]
    monkeypatch.setattr(sandbox, "system_paths", lambda: usual)
    command = ["cat", str(link / "file")]
    wrapped = sandbox.wrap_compiler(
        command, paths=[link], folders=[far], start=Path("/")
    )
    assert subprocess.run(wrapped, capture_output=True).stdout == b"seen"
