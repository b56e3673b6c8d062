# SPDX-License-Identifier: MIT
"""Sphinx's source folder: the repository's pages under the paths that they have there.

A page is copied with two changes. A path in code quotes that names another page of the
book becomes a link to it, and a link to a file that is no page keeps its text only.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from docs.book import pages

_FENCE = re.compile(r"^(```|~~~).*?^\1\s*?$", re.M | re.S)
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<to>[^)#\s]*)(?P<anchor>#[^)]*)?\)")
_QUOTED = re.compile(r"(?<![\[`])`(?P<path>[\w./-]+\.(?:md|ipynb|h))`(?![\]`])")
_PICTURE = re.compile(r"!\[[^\]]*\]\((?P<file>[^)]+)\)")


def write(root: Path, to: Path, notebook: Callable[[str], str]) -> list[str]:
    """Write the source folder from a tree; the names of all pages.

    Args:
        root: the repository, or a handout.
        to: the folder to write, which is made anew.
        notebook: the text of a notebook with its outputs, by its path from the root.
    """
    shutil.rmtree(to, ignore_errors=True)
    parts = pages.parts(root)
    names = [pages.FRONT, *(page for part in parts for page in part.pages)]
    header = (root / pages.HEADER).read_text(encoding="utf-8")
    for name in names:
        target = to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name in pages.MADE:
            target.write_text(pages.MADE[name](header), encoding="utf-8")
        elif name.endswith(".ipynb"):
            target.write_text(notebook(name), encoding="utf-8")
        else:
            text = (root / name).read_text(encoding="utf-8")
            _pictures(root, to, name, text)
            target.write_text(linked(text, name, names), encoding="utf-8")
    with (to / pages.FRONT).open("a", encoding="utf-8") as front:
        for part in parts:
            listed = "\n".join(part.pages)
            front.write(
                f"\n```{{toctree}}\n:hidden:\n:caption: {part.title}\n\n{listed}\n```\n"
            )
    return names


def linked(text: str, name: str, names: list[str]) -> str:
    """A page's text with links that hold in the book."""
    kept, last = [], 0
    for fence in _FENCE.finditer(text):
        kept += [_linked(text[last : fence.start()], name, names), fence[0]]
        last = fence.end()
    return "".join([*kept, _linked(text[last:], name, names)])


def _linked(text: str, name: str, names: list[str]) -> str:
    folder = Path(name).parent

    def page_of(path: str) -> str | None:
        """The page that a path means: from this page's folder, or from the root."""
        for base in (folder, Path()):
            meant = os.path.normpath(base / path)
            meant = "operators.md" if meant == pages.HEADER else meant
            if meant in names and meant != name:
                return os.path.relpath(meant, folder)
        return None

    def link(match: re.Match[str]) -> str:
        to, anchor = match["to"], match["anchor"] or ""
        if not to or "://" in to:
            return match[0]
        page = page_of(to)
        return f"[{match['text']}]({page}{anchor})" if page else match["text"]

    def quoted(match: re.Match[str]) -> str:
        page = page_of(match["path"])
        return f"[`{match['path']}`]({page})" if page else match[0]

    return _QUOTED.sub(quoted, _LINK.sub(link, text))


def _pictures(root: Path, to: Path, name: str, text: str) -> None:
    """Copy the pictures that a page shows."""
    for match in _PICTURE.finditer(text):
        file = Path(os.path.normpath(Path(name).parent / match["file"]))
        if "://" not in match["file"]:
            (to / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / file, to / file)
