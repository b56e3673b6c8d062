# SPDX-License-Identifier: MIT
"""The pictures of the instructors' guide: pages about a class that is made up.

python -m tests.proofs.course_pictures        (with Chromium)
"""

from __future__ import annotations

import base64
import os
import sys
import tempfile
from pathlib import Path

from grader.commands import cli
from grader.engine.similarity import pairs
from grader.engine.similarity.pairs import Source
from grader.handout import course_trees
from grader.report.marks import similar_page
from tests import put
from tests.grader.course.offered import TEXT, read
from tests.grader.report.browser import Browser
from tests.grader.report.marks import made_class
from tests.proofs import planted
from tests.proofs.pictures import FOLDER
from tests.proofs.similarity import RIGHT

WIDTH = 1000  # pixels
PICTURES = {  # page -> from which element, and how high
    "student": (".head", 1000),
    "class": (".head", 945),
    "tasks": ("#tasks", 900),
    "similar": (".head", 900),
}


def main() -> int:
    """Make all of them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        exports = pages(folder)
        browser = Browser(folder / "profile")
        try:
            for picture, (first, height) in PICTURES.items():
                page = "class" if picture == "tasks" else picture
                browser.look(width=WIDTH, height=height, color_scheme="light")
                browser.open(exports / f"{page}.html")
                top = f"document.querySelector('{first}').getBoundingClientRect().top"
                browser.value(f"scrollTo({{top: {top}, behavior: 'instant'}})")
                made = browser.call("Page.captureScreenshot", format="png")
                file = FOLDER / f"course_{picture}.png"
                file.write_bytes(base64.b64decode(made["data"]))
        finally:
            browser.close()
    return 0


def pages(folder: Path) -> Path:
    """The pages of a class, in a folder."""
    made = read(folder)
    made_class.on_desk(folder / made.name, made)
    course_trees._try_hidden = lambda made: None  # it computes cases in processes
    course = put(folder / "course.toml", TEXT)
    os.environ.update(COURSE=str(course), DESK=str(folder), TO="pages,class")
    assert cli.run("marks") == 0
    exports = folder / made.name / "exports"
    ada = (exports / "pages" / "Ada.html").read_text()
    put(exports / "student.html", ada)
    text = (RIGHT / "conv2d" / "forward_index.c").read_text()
    place = "labs/02_naive_c/conv2d/00_definition.c"
    other = (RIGHT / "conv2d" / "forward_padded.c").read_text()
    texts = {"Judy": text, "Ken": planted.copied(text, ".c", 1), "Lynn": other}
    sources = [Source(who, place, texts[who], "conv2d") for who in texts]
    found = pairs.ranked(sources, lambda topic: set(), most=9)
    put(exports / "similar.html", similar_page.render(found, made, students=24))
    return exports


if __name__ == "__main__":
    sys.exit(main())
