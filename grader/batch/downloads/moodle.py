# SPDX-License-Identifier: MIT
"""Reads what Moodle gives for "Download all submissions".

Facts, from Moodle's mod/assign/classes/downloader.php (the file names) and
files/classes/local/archive_writer/zip_writer.php (the times):

- An entry is called after the student, and a number: Full Name_123456. A team's entry
  has the group's name and number. "Default group" has no number.
- Then comes _assignsubmission_file, for a text _assignsubmission_onlinetext. Older
  versions add another _ to it.
- Work is a folder of this name. Without the setting "Download submissions in folders"
  each file begins with this name.
- The download has the last attempt only.
- The writer names no times. So ZipStream writes the time of the download
  (https://github.com/maennchen/ZipStream-PHP, src/ZipStream.php, addFile).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from grader.batch.downloads.download import Attempt, Download, HandIn
from grader.course.foreign import one_line
from grader.course.handed.inbox import named

ENTRY = re.compile(
    r"(?P<name>.+?)(?:_(?P<id>\d+))?_assignsubmission_(?P<kind>[a-z]+)"
    r"(?:_(?P<file>.*))?",
    re.DOTALL,
)
NO_TIMES = (
    "Moodle's download does not say when work was handed in. WHEN= gives one time for "
    "all"
)
ONLY_TEXT = "only a text was handed in, and no file"
SEVERAL = (
    "several files were handed in: {}. Download again, with Moodle's setting Download "
    "submissions in folders"
)
OTHER = "Moodle gives no such name to the work of a student"


def read(entries: Sequence[Path]) -> Download | None:
    """The work in these files and folders; None if Moodle named none of them."""
    work: dict[tuple[str, str], list[Path]] = {}
    texts: set[tuple[str, str]] = set()
    others: list[HandIn] = []
    for entry in entries:
        found = ENTRY.fullmatch(entry.name)
        if not found:
            name = named(entry.name)
            others.append(HandIn(({"id": name, "name": name},), why=OTHER))
        elif found["kind"] == "file":
            work.setdefault((found["name"], found["id"] or ""), []).append(entry)
        else:
            texts.add((found["name"], found["id"] or ""))
    if not work and not texts:
        return None
    hand_ins = [_hand_in(*who, work.get(who, [])) for who in sorted({*work, *texts})]
    return Download((*hand_ins, *others), (NO_TIMES,))


def _hand_in(name: str, number: str, files: list[Path]) -> HandIn:
    marks = {"moodle_id": number, "name": named(name), "team": named(name)}
    if len(files) == 1:
        return HandIn((marks,), (Attempt(files[0]),))
    listed = ", ".join(one_line(file.name) for file in files)
    return HandIn((marks,), why=SEVERAL.format(listed) if files else ONLY_TEXT)
