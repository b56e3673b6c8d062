# SPDX-License-Identifier: MIT
"""The pictures of the README: watch, progress and report of a mistake in conv2d.

    python -m tests.proofs.pictures        (with tmux and Chromium)

A terminal is photographed with its colours, the page by the browser of the tests.
"""

from __future__ import annotations

import base64
import io
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from grader.course.rungs import ROOT
from grader.toolchain.make import build_folder, build_tools
from tests.grader.engine.test_grade import Tree, copy_of_the_repository
from tests.grader.report.browser import Browser
from tests.grader.watch.terminal import Terminal

FOLDER = ROOT / "docs" / "pictures"
LADDERS = "02_naive_c/add", "02_naive_c/gelu", "02_naive_c/conv2d"
SIZE = 90, 28  # columns and rows
PAGE = 1000, 900  # pixels
CONV2D = "02_naive_c/conv2d/00_definition.c"
SWAP = "oh * p.stride_h + kh * p.dilation_h - p.padding_h"
HEAT = "document.querySelector('svg.heat').getBoundingClientRect().top"
PATIENCE = 300.0
FONT = re.compile(r"@font-face \{.*?\}\s*", re.S)  # from the network


def main() -> int:
    """Make all three."""
    build_tools()
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        tree = copy_of_the_repository(
            Path(folder), build_folder() / "tools", *LADDERS, timed=True
        )
        file = tree.root / "labs" / CONV2D
        text = file.read_text()
        assert SWAP in text
        tree.run("grade", "02", timeout=300)
        file.write_text(text.replace(SWAP, SWAP.replace("padding_h", "padding_w"), 1))
        command = ["watch", "02"]
        photograph(tree, command, "watch", "make watch LAB=02", ("WRONG_", "graded"))
        photograph(tree, ["progress"], "progress", "make progress", ("ended with",))
        screenshot(tree.build / "grade" / "report.html", Path(folder) / "profile")
    return 0


def photograph(
    tree: Tree, command: Sequence[str], name: str, title: str, until: tuple[str, ...]
) -> None:
    """A command's screen once it shows these words, as an SVG."""
    env = {"CONVLAB_BUILD": str(tree.build), "PATH": os.environ["PATH"]}
    words = [sys.executable, "-m", "grader", *command]
    with Terminal(
        words, cwd=tree.root, env=env, size=SIZE, patience=PATIENCE
    ) as terminal:
        terminal.until(*until)
        shown = terminal.colours()
    console = Console(record=True, width=SIZE[0], file=io.StringIO())
    lines = [line for line in shown.splitlines() if "ended with" not in line]
    console.print(Text.from_ansi("\n".join(lines).rstrip()), soft_wrap=True)
    svg = FONT.sub("", console.export_svg(title=title, unique_id=name))
    (FOLDER / f"{name}.svg").write_text(svg)


def screenshot(page: Path, profile: Path) -> None:
    """The report where it tells of the mistake, as a PNG."""
    browser = Browser(profile)
    try:
        browser.look(width=PAGE[0], height=PAGE[1], color_scheme="light")
        browser.open(page)
        browser.value(f"scrollTo(0, {HEAT} - {PAGE[1] // 2})")
        made = browser.call("Page.captureScreenshot", format="png")
    finally:
        browser.close()
    (FOLDER / "report.png").write_bytes(base64.b64decode(made["data"]))


if __name__ == "__main__":
    sys.exit(main())
