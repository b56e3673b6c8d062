# SPDX-License-Identifier: MIT
"""What a worker in C sees of the system: single files, found by asking the loader."""

from __future__ import annotations

from pathlib import Path

from grader.toolchain import gpu_probe, loader, sandbox


def test_the_loader_names_files_for_the_worker_and_for_rungs(tools):
    found = loader.needed(tools / "worker", [tools / "nothing.so"], {})
    names = {file.name.partition(".so")[0] for file in found}
    assert {"libc", "libm", "libgcc_s"} <= names  # and OpenMP, whatever its name
    assert all(file.is_file() for file in found)


def test_a_path_may_have_blanks_and_what_is_missing_is_left_out():
    output = (
        "\tlinux-vdso.so.1 (0x00007ffd)\n"
        "\t/a b/nothing.so (0x00007f01)\n"
        "\tlibomp.so.5 => not found\n"
        "\tlibc.so.6 => /lib/c/libc.so.6 (0x00007f02)\n"
        "\t/lib64/ld-linux-x86-64.so.2 (0x00007f03)\n"
    )
    expected = ["/a b/nothing.so", "/lib/c/libc.so.6", "/lib64/ld-linux-x86-64.so.2"]
    assert loader._FOUND.findall(output) == expected


def test_a_file_is_shown_without_its_folder(tmp_path):
    real = tmp_path / "libc-2.36.so"
    real.write_text("")
    name = tmp_path / "libc.so.6"
    name.symlink_to(real.name)
    assert sandbox._visible([name]) == ["--ro-bind", str(real), str(name)]
    beside = sandbox._visible([name, tmp_path])  # the folder comes first, and has links
    assert beside[:2] == ["--ro-bind", str(tmp_path)]
    assert beside[3:] == ["--ro-bind", str(real), str(real)]


def test_of_the_drivers_folder_only_its_own_libraries_are_shown(tmp_path, monkeypatch):
    for name in ("libcuda.so.1", "libnvidia-nvvm.so.4", "libcublas.so.13", "libc.so.6"):
        (tmp_path / name).write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", f"relative:{tmp_path}")
    shown = {file.name for file in gpu_probe.driver() if file.parent == tmp_path}
    assert shown == {"libcuda.so.1", "libnvidia-nvvm.so.4"}
    assert Path("/sys") in gpu_probe.seen()
