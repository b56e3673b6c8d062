# SPDX-License-Identifier: MIT
"""Reads what Canvas gives for "Download Submissions".

Facts, from Canvas' lib/content_zipper.rb (add_submission and below) and
app/models/attachment.rb (make_unique_filename):

- A file is called NAME_USER_FILE_UPLOAD, or NAME_LATE_USER_FILE_UPLOAD if it is late.
- NAME is "family name, given name" in small letters, without blanks and punctuation.
  A group has the group's name.
- USER is Canvas' number of the student. In anonymous grading there is no NAME, and USER
  is anon_LETTERS. FILE is the number of the upload: a later upload has a greater one.
- UPLOAD is the student's file name. If the student has such a file already, Canvas
  appends -1, -2 ... to the name.
- A text is called NAME_USER_text, a link to a page NAME_USER_link. Both end with .html.
- No time is written into the archive, so it has the time of the download.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from grader.batch.downloads.download import Attempt, Download, HandIn
from grader.course.foreign import one_line
from grader.course.handed import opened
from grader.course.handed.inbox import named

ENTRY = re.compile(
    r"(?:(?P<name>(?!LATE_).+?)_)?(?P<late>LATE_)?(?P<user>\d+|anon_[A-Za-z0-9]+)_"
    r"(?:(?P<file>\d+)_(?P<upload>.+)|(?:text|link)\.html)",
    re.DOTALL,
)
AGAIN = re.compile(r"-\d+$")
NO_TIMES = (
    "Canvas' download does not say when work was handed in. WHEN= gives one time for "
    "all"
)
LATE = "late by Canvas' clock"
NO_FILE = "a text or a link was handed in, and no file"
SEVERAL = "several files were handed in: {}. Keep only one"


def read(entries: Sequence[Path]) -> Download | None:
    """The work in these files; None unless Canvas named all of them."""
    users: dict[str, list[re.Match[str]]] = {}
    for entry in entries:
        found = ENTRY.fullmatch(entry.name)
        if not found or entry.is_dir():
            return None
        users.setdefault(found["user"], []).append(found)
    if not users:
        return None
    folder = entries[0].parent
    hand_ins = tuple(_hand_in(folder, files) for files in users.values())
    return Download(hand_ins, (NO_TIMES,))


def _hand_in(folder: Path, entries: list[re.Match[str]]) -> HandIn:
    """A student's work: uploads that differ in -1 alone are one file, uploaded anew."""
    name = named(entries[0]["name"] or entries[0]["user"])
    marks = {"canvas_id": entries[0]["user"], "name": name, "team": name}
    uploads = [one for one in entries if one["upload"]]
    archives = [one for one in uploads if opened.stem(one["upload"])] or uploads
    if not archives:
        return HandIn((marks,), why=NO_FILE)
    names = [one["upload"] for one in archives]
    if len({AGAIN.sub("", opened.stem(one) or one) for one in names}) > 1:
        listed = ", ".join(map(one_line, names))
        return HandIn((marks,), why=SEVERAL.format(listed))
    archives.sort(key=lambda one: int(one["file"]))
    beside = [one_line(one["upload"]) for one in uploads if one not in archives]
    attempts = []
    for number, one in enumerate(archives, start=1):
        said = [LATE] if one["late"] else []
        said += [f"not taken: {', '.join(beside)}"] if beside else []
        file = folder / one.string
        attempts.append(
            Attempt(file, number=number, of=len(archives), said="; ".join(said))
        )
    return HandIn((marks,), tuple(attempts))
