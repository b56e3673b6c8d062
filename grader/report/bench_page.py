# SPDX-License-Identifier: MIT
"""Makes one page of HTML from the results of `make bench`: a chart for each case.

It uses the charts of the report. Rows come from the bench's JSON file. They are the
speed entries of results.json with two more words, `rung` and `part`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.checks.speed.estimate import Speed
from grader.engine.answers import as_json
from grader.report import charts, html, roofline
from grader.report.measured import machine, positive

Row = tuple[str, str, Speed]  # label of the file, part, what was measured
BACKDROP = "roofs"  # the id of what is behind the roofline


def write(found: Mapping[str, Any], about: str, file: Path) -> Path:
    """The page of a bench file's contents; `about` says on what it was measured.

    Raises GraderError if the page cannot be made or written.
    """
    rows = [_row(row) for row in found["rows"]]
    parts = {part: _charts(rows, part) for part in dict.fromkeys(r[1] for r in rows)}
    points = _points(rows)
    frame = None
    if points:
        peaks = machine(found["environment"].get("machine"))
        frame = roofline.frame(points, peaks, labels=len(points))
    return html.save(
        html.document(
            "bench.html",
            command=found["command"],
            machine=about,
            parts=[(part, made) for part, made in parts.items() if made],
            backdrop=roofline.backdrop(BACKDROP, frame) if frame else "",
            roofline=frame
            and roofline.roofline(
                "roofline", "Roofline", points, frame, backdrop=BACKDROP
            ),
        ),
        file,
    )


def _row(row: Mapping[str, Any]) -> Row:
    """The file as 03 packed, its part, and its times."""
    part = str(row["part"])
    label = str(row["rung"]).rpartition("/")[2].replace("_", " ")
    return label, part, as_json.speed({**row, "direction": part})


def _charts(rows: Sequence[Row], part: str) -> list[tuple[str, Any]]:
    """For each case of a part a chart of all files that were timed on it."""
    timed = [row for row in rows if row[1] == part and positive(html.ratio(row[2]))]
    made = []
    for case in dict.fromkeys(entry.case for _, _, entry in timed):
        here = [(label, entry) for label, _, entry in timed if entry.case == case]
        chart = charts.ladder(
            re.sub(r"\W", "-", f"{part}-{case}"),
            f"{case}, {part}: speed as a ratio to PyTorch",
            html.ratio_bars(here),
            mark=1.0,
            mark_name="PyTorch",
        )
        made.append((case, chart))
    return made


def _points(rows: Sequence[Row]) -> list[roofline.Point]:
    """Of each file and direction the case with the most work per second."""
    best: dict[tuple[str, str], roofline.Point] = {}
    for label, part, entry in rows:
        point = html.point(label, entry)
        if point and part in ("forward", "backward"):
            before = best.get((label, part))
            if before is None or point.gflops > before.gflops:
                best[label, part] = point
    return list(best.values())
