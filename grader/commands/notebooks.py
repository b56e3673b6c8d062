# SPDX-License-Identifier: MIT
"""`make notebooks` runs every notebook of the labs from top to bottom.

The notebooks are kept without outputs. The outputs of a run go into build/notebooks, as
a notebook and as a page for the browser. Every cell must run, whether the labs are
solved or not.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbconvert import HTMLExporter
from nbconvert.preprocessors import TagRemovePreprocessor

from grader.course.rungs import ROOT
from grader.toolchain.make import build_folder

STOPPED = (CellExecutionError, CellTimeoutError, DeadKernelError)
FOLDED = "hide-input"  # the tag of a cell with folded code, also in the book
CELL_LIMIT = 300  # seconds, of which building the binding takes ten


def all_notebooks(root: Path = ROOT) -> list[Path]:
    """Every notebook of the labs, in the order of the course."""
    return sorted(root.glob("labs/[0-9][0-9]_*/*.ipynb"))


def kernel(folder: Path) -> AsyncKernelManager:
    """A kernel of this very Python, whatever Jupyter has installed elsewhere."""
    home = folder / "kernels" / "convlab"
    home.mkdir(parents=True, exist_ok=True)
    launch = [sys.executable, "-m", "ipykernel_launcher", "--log-level=ERROR"]
    argv = [*launch, "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "convlab", "language": "python"}
    (home / "kernel.json").write_text(json.dumps(spec))
    specs = KernelSpecManager(
        kernel_dirs=[str(home.parent)], ensure_native_kernel=False
    )
    return AsyncKernelManager(kernel_name="convlab", kernel_spec_manager=specs)


def execute(notebook: Any, folder: Path, root: Path = ROOT) -> Any:
    """Run a notebook's cells, its labs those of `root`. Raises CellExecutionError."""
    place = root / "labs"
    ours = ("", "common/python", "grader/python")
    paths = [*(str(root / name) for name in ours), os.environ.get("PYTHONPATH")]
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    environment["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    client = NotebookClient(
        notebook,
        km=kernel(folder),
        timeout=CELL_LIMIT,
        resources={"metadata": {"path": str(place)}},
    )
    # nbclient ends the kernel and closes its sockets only if it made the manager
    return client.execute(env=environment, cleanup_kc=True)


def why(notebook: Any, error: Exception) -> str:
    """Where and why a notebook stopped, in one sentence."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    raised = [
        number
        for number, cell in enumerate(cells, start=1)
        if any(output.output_type == "error" for output in cell.get("outputs", ()))
    ]
    where = f"in code cell {raised[0]} of {len(cells)}" if raised else "in a cell"
    if isinstance(error, CellExecutionError):
        first = next(iter(str(error.evalue).splitlines()), "no reason given")
        return f"stopped {where}: {error.ename}: {first}"
    if isinstance(error, DeadKernelError):
        return "stopped: its Python process ended (did memory run out?)"
    return f"stopped: a cell did not end within {CELL_LIMIT} s"


def page(notebook: Any) -> str:
    """A notebook as HTML, without the code of checks: it may contain the answer."""
    exporter = HTMLExporter()
    without = TagRemovePreprocessor(remove_input_tags={FOLDED})
    exporter.register_preprocessor(without, enabled=True)
    return exporter.from_notebook_node(notebook)[0]


def main() -> int:
    """Run them all; 1 if a cell raised."""
    folder = build_folder() / "notebooks"
    os.environ.setdefault("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
    failed = 0
    for path in all_notebooks():
        shown = path.relative_to(ROOT)
        notebook = nbformat.read(path, as_version=4)
        stem = folder / f"{path.parent.name}_{path.stem}"
        try:
            execute(notebook, folder)
            print(f"{shown}: {stem.with_suffix('.html')}")
        except STOPPED as error:
            failed += 1
            print(f"{shown} {why(notebook, error)}", file=sys.stderr)
        nbformat.write(notebook, stem.with_suffix(".ipynb"))
        stem.with_suffix(".html").write_text(page(notebook))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
