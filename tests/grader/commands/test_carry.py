# SPDX-License-Identifier: MIT
"""What is taken along to a machine without network is named in the lock file."""

from __future__ import annotations

from grader.commands import carry


def test_every_package_is_taken_with_its_hashes():
    chosen = carry.locked(carry.LOCK.read_text())
    heads = [line.split("==")[0] for line in chosen.splitlines() if "==" in line]
    assert sorted(heads) == sorted(carry.PLAIN)
    assert chosen.count("--hash=sha256:") >= len(carry.PLAIN)


def test_an_entry_is_told_from_one_that_begins_alike():
    text = "rich==1 \\\n    --hash=sha256:a\nrich-more==2 \\\n    --hash=sha256:b\n"
    assert carry.locked(text) == "rich==1 \\\n    --hash=sha256:a\n"
