# SPDX-License-Identifier: MIT
"""Reads a compiled file (ELF, 64 bits): its names, and its requests to the loader.

A rung is loaded before its worker sets the last limits (limits.h). So it may not run
code while it is loaded. It also may not have memory that is both written and executed.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

from grader.errors import GraderError

_FILE_HEADER = 64  # bytes
_LOAD, _DYNAMIC, _STACK = 1, 2, 0x6474E551  # kinds of segments
_WRITABLE_CODE = 1 | 2  # flags: executed and written
_RUNS = (12, 25, 32)  # tags of DT_INIT, DT_INIT_ARRAY, DT_PREINIT_ARRAY
_SYMBOLS = 6  # of the table of symbols
_RELOCATIONS = ((7, 8), (23, 2))  # of a table of relocations, and of its size
_RESOLVERS = (37, 1032)  # R_X86_64_IRELATIVE, R_AARCH64_IRELATIVE
_IFUNC = 10  # type of a symbol whose address a function tells
_HEADER, _ENTRY = struct.Struct("<IIQQQQ16x"), struct.Struct("<qQ")
_SECTION = struct.Struct("<I20xQ")  # where its name is told; offset in the file
_RELOCATION, _SYMBOL = struct.Struct("<QQq"), struct.Struct("<4xB19x")
_SYMBOL_TABLES = {True: 11, False: 2}  # kinds of sections: the loader's table, or all
_TABLE = struct.Struct("<4xIQ8xQQI20x")  # kind, flags, offset, bytes, link
_NAME = struct.Struct("<IBxH16x")  # where it is told; binding and type; section
_CODE = 4  # flag of a section that is executed
_GLOBAL, _WEAK = 1, 2  # bindings
_UNNAMED = (3, 4)  # types of the symbols of a section, and of the source file
_SPECIAL = 0xFF00  # from here on a section's number is none

RUNS = "runs code while it is loaded (a constructor, or ifunc), which no file needs"
WRITABLE = (
    "has machine code in writable memory (does it take the address of a nested "
    "function?), which no file needs"
)


OWN_TABLE = (
    "has a section '.dynamic', which tells the loader what to load and run: only the "
    "linker may make this section"
)


class Segment(NamedTuple):
    """A program header."""

    kind: int
    flags: int
    offset: int  # in the file
    address: int
    physical: int
    bytes: int


class Names(NamedTuple):
    """The names in a compiled file."""

    exported: set[str]  # functions that others may call
    taken: set[str]  # from elsewhere, also the weak ones
    weak: set[str]  # from elsewhere, if they are there
    every: set[str]


def names(data: bytes, *, dynamic: bool) -> Names:
    """The names in a shared object's table for the loader (`dynamic`), or in the table
    of an object that was not stripped. What `nm` tells, in a hundredth of its time.
    Raises struct.error or IndexError for a file that is cut off.
    """
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [_TABLE.unpack_from(data, start + i * size) for i in range(count)]
    found = Names(set(), set(), set(), set())
    for kind, _, offset, length, link in sections:
        if kind != _SYMBOL_TABLES[dynamic]:
            continue
        texts = sections[link][2]
        rows = data[offset : offset + length]
        for where, about, section in _NAME.iter_unpack(rows):
            binding, type_ = about >> 4, about & 0xF
            if not where or type_ in _UNNAMED:
                continue
            text = data[texts + where : data.index(b"\0", texts + where)]
            name = text.decode(errors="replace")
            found.every.add(name)
            if not section:
                plain = name.partition("@")[0]  # without a version
                found.taken.add(plain)
                if binding == _WEAK:
                    found.weak.add(plain)
                continue
            in_code = section < _SPECIAL and sections[section][1] & _CODE
            if in_code and binding == _GLOBAL and type_ != _IFUNC:
                found.exported.add(name)
    return found


def _whole(file: Path) -> bytes:
    """A compiled file's bytes. Raises GraderError if its end is missing: the table of
    sections is the last thing that a linker writes.
    """
    data = file.read_bytes()
    end = _FILE_HEADER
    if len(data) >= end:
        (start,) = struct.unpack_from("<Q", data, 40)
        size, count = struct.unpack_from("<HH", data, 58)
        end = start + size * count
    if len(data) < end:
        raise GraderError(
            f"{file} is incomplete: it has {len(data)} of at least {end} bytes. Was "
            "the disk full, or was the compiler killed? Run make clean, then grade "
            "again"
        )
    return data


def has_own_table(file: Path) -> bool:
    """Whether a compiled object brings a part of the loader's table: what is linked
    with it can ask for other libraries, and is no table that `forbidden` can read.
    """
    data = _whole(file)
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    if names >= count:  # counted elsewhere: thousands of sections
        return True
    rows = [_SECTION.unpack_from(data, start + i * size) for i in range(count)]
    base = rows[names][1]
    return any(data.startswith(b".dynamic\0", base + name) for name, _ in rows)


def forbidden(file: Path) -> str:
    """A sentence about a library that asks for what no rung needs, or ""."""
    data = _whole(file)
    (start,) = struct.unpack_from("<Q", data, 32)
    (count,) = struct.unpack_from("<H", data, 56)
    headers = data[start : start + count * _HEADER.size]
    segments = [Segment(*words) for words in _HEADER.iter_unpack(headers)]
    for segment in segments:
        both = segment.flags & _WRITABLE_CODE == _WRITABLE_CODE
        if both and segment.kind in (_LOAD, _STACK):
            return WRITABLE
    dynamic = next(s for s in segments if s.kind == _DYNAMIC)
    rows = data[dynamic.offset : dynamic.offset + dynamic.bytes]
    entries = dict(_ENTRY.iter_unpack(rows))
    if any(tag in entries for tag in _RUNS) or _resolves(data, segments, entries):
        return RUNS
    return ""


def _resolves(data: bytes, segments: list[Segment], entries: dict[int, int]) -> bool:
    """Whether a relocation calls a function to learn an address."""

    def at(address: int) -> int:
        inside = (s for s in segments if 0 <= address - s.address < s.bytes)
        found = next(s for s in inside if s.kind == _LOAD)
        return found.offset + address - found.address

    for table, size in _RELOCATIONS:
        if table not in entries:
            continue
        start = at(entries[table])
        rows = data[start : start + entries[size]]
        for _, info, _ in _RELOCATION.iter_unpack(rows):
            kind, symbol = info & 0xFFFFFFFF, info >> 32
            row = at(entries[_SYMBOLS]) + symbol * _SYMBOL.size
            (about,) = _SYMBOL.unpack_from(data, row)
            if kind in _RESOLVERS or about & 0xF == _IFUNC:
                return True
    return False
