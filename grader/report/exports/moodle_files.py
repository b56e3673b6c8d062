# SPDX-License-Identifier: MIT
"""Packs pages for Moodle's "Upload multiple feedback files in a zip".

A folder is called FULL NAME_NUMBER_assignsubmission_file_, as in Moodle's download of
all submissions; since Moodle 4.1 without the last underscore. Each assignment has its
own numbers of participants, so only the download knows them. Moodle's own reader is
mod/assign/feedback/file/importziplib.php, is_valid_filename_for_import().
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Mapping

from grader.course.handed.inbox import named

FOLDER = re.compile(r"([^_/]+)_(\d+)_assignsubmission_file_?")
FILE = "feedback.html"


def folders(names: Iterable[str]) -> dict[str, str]:
    """The folders of a download, by each name that its student may have here: folder,
    full name or number. A full name that two students share stands for nobody.
    """
    found: dict[str, str] = {}
    twice = set()
    for folder in sorted(set(names)):
        if match := FOLDER.fullmatch(folder):
            for name in (folder, *match.groups()):
                twice |= {named(name)} & found.keys()
                found[named(name)] = folder
    return {name: folder for name, folder in found.items() if name not in twice}


def packed(pages: Mapping[str, str]) -> bytes:
    """A zip with a page in each folder."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder, text in pages.items():
            archive.writestr(f"{folder}/{FILE}", text.encode("utf-8", "replace"))
    return made.getvalue()
