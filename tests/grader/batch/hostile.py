# SPDX-License-Identifier: MIT
"""Archives that students could hand in to harm whoever unpacks them, or by mistake."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import unicodedata
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass

GELU = "labs/02_naive_c/gelu/00_definition.c"
OTHER = "labs/02_naive_c/add/00_broadcast.c"
MINE = {GELU: b"mine"}
BESIDE = "beside/secret"  # below the folder in which everything happens
UP = "../" * 12
ABOVE = [  # two of them lead to the folder beside
    f"{'../' * n}beside/{name}" for n in range(1, 9) for name in ("secret", "evil")
]
LINKS = ((tarfile.SYMTYPE, "link"), (tarfile.LNKTYPE, "hard link"))
DEVICES = (
    (tarfile.CHRTYPE, "character device"),
    (tarfile.BLKTYPE, "block device"),
    (tarfile.FIFOTYPE, "pipe"),
)


@dataclass(frozen=True)
class Hostile:
    """An archive, and what is said of it."""

    make: Callable[[], bytes]
    says: str  # a pattern
    name: str = "alice.zip"


def zipped(files: Mapping[str, bytes]) -> bytes:
    """A zip with these members, whatever their names are."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.filename = name  # ZipInfo ends a name at \0
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return made.getvalue()


def tarred(
    files: Mapping[str, bytes], *special: tuple[str, bytes, str], gz: bool = True
) -> bytes:
    """A tar of links and devices (a name, a kind and a target), then of files."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, kind, target in special:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, target
            archive.addfile(entry)
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(made.getvalue()) if gz else made.getvalue()


def patched(data: bytes, *, local: int, central: int, value: int, form: str) -> bytes:
    """A zip with another number at these offsets of all its headers."""
    made = bytearray(data)
    for mark, offset in ((b"PK\3\4", local), (b"PK\1\2", central)):
        at = made.find(mark)
        while at >= 0 and offset >= 0:
            struct.pack_into(form, made, at + offset, value)
            at = made.find(mark, at + 4)
    return bytes(made)


def twice() -> bytes:
    """Two members that share their data: the second header points at the first."""
    data = bytearray(zipped({GELU: b"mine", GELU.replace("00_d", "07_d"): b"x"}))
    second = data.rfind(b"PK\1\2")
    struct.pack_into("<I", data, second + 42, 0)
    return bytes(data)


def doubled(*names: str) -> bytes:
    """A zip with a different file for each name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return zipped({name: str(n).encode() for n, name in enumerate(names)})


def with_left(says: str, *names: str) -> Hostile:
    """A good file, and some with a name that must do no harm."""
    return Hostile(lambda: zipped({**dict.fromkeys(names, b"evil"), **MINE}), says)


NONE = "none of the files that the course asks for"
LEFT = r"not graded, outside of labs/<lab>/<operator>/"
TWO = "two different files"
LINK = "not graded, a link: hand in the file itself: labs"
NO_FILE = "not graded, no plain file: labs"


def beside(kind: bytes, target: str, says: str) -> Hostile:
    """A member of this kind in place of a file, beside a plain file."""
    other = GELU.replace("00_d", "07_d")
    return Hostile(
        lambda: tarred({other: b"mine"}, (GELU, kind, target)), says, "alice.tar.gz"
    )


HOSTILE: dict[str, Hostile] = {
    "traversal": with_left(LEFT, *ABOVE),
    "traversal in labs": with_left(
        LEFT, *(f"labs/02_naive_c/gelu/../../../{name}" for name in ABOVE)
    ),
    "absolute path": with_left(LEFT, "/tmp/convlab-evil"),
    "backslashes": with_left(LEFT, "..\\..\\beside\\secret"),
    "drive": with_left(LEFT, "C:\\beside\\secret"),
    "device name": with_left(LEFT, "/dev/null"),
    "newline": with_left(LEFT, "a\nb: 100 of 100"),
    "HTML": with_left(LEFT, "<script>alert(1)</script>"),
    "formula": with_left(LEFT, "=cmd|'/c calc'!A1"),
    "terminal": with_left(LEFT, "\x1b]0;evil\x07\x1b[2J"),
    "reversed": with_left(LEFT, "a\u202egpj.c"),
    "NUL": with_left(LEFT, "a\0/../../b"),
    "long name": with_left(LEFT, "n" * 5000),
    "deep name": with_left(LEFT, "d/" * 5000 + "x"),
    "dot": with_left(LEFT, "."),
    "a folder of the file's name": with_left("no file of this name", f"{GELU}/x"),
    "a shell's name": with_left("expected a name of two", f"{GELU}; touch x #.c"),
    "full width": with_left(
        "expected a name of two digits", "labs/02_naive_c/gelu/\uff10\uff17_x.c"
    ),
    "pax path": Hostile(
        lambda: tarred({**dict.fromkeys(ABOVE, b"evil"), **MINE}), LEFT, "alice.tar.gz"
    ),
    "link to a folder, and a file below": Hostile(
        lambda: tarred(
            MINE, ("labs/02_naive_c/gelu", tarfile.SYMTYPE, f"{UP}tmp"), gz=False
        ),
        "not graded, a link",
        "alice.tar",
    ),
    "case": Hostile(lambda: doubled(GELU, f"x/{GELU}".replace("labs", "LABS")), TWO),
    "case of a file": Hostile(
        lambda: doubled(GELU, GELU.replace("def", "Def")), "expected a name of two"
    ),
    "Unicode form": Hostile(
        lambda: doubled(
            GELU,
            *(
                unicodedata.normalize(form, "labs/02_naive_c/gelu/07_\xe9.c")
                for form in ("NFC", "NFD")
            ),
        ),
        "expected a name of two",
    ),
    "two hand-ins in one": Hostile(lambda: doubled(f"a/{GELU}", f"b/{GELU}"), TWO),
    "two tasks in one": Hostile(
        lambda: zipped({**MINE, OTHER: b"mine"}), r"alice: \d+ of"
    ),
    "nested": Hostile(lambda: zipped({"labs.zip": zipped(MINE)}), NONE),
    "nested often": Hostile(
        lambda: zipped({"a.zip": zipped({"b.zip": zipped(MINE)})}), NONE
    ),
    "10,000 files": Hostile(
        lambda: zipped({f"junk{n}": b"" for n in range(10_000)}),
        "has more than 1000 files",
    ),
    "a long list of files": Hostile(
        lambda: zipped({f"{n:05d}{'n' * 60_000}": b"" for n in range(200)}),
        "its list of files has 12",
    ),
    "zip bomb": Hostile(
        lambda: zipped({GELU: bytes(48 << 20)}), "it is larger than 1048576 bytes"
    ),
    "large files that count": Hostile(
        lambda: zipped(
            {f"labs/02_naive_c/gelu/{n:02d}_x.c": bytes(1 << 20) for n in range(40)}
        ),
        "has more than 16 MiB in files that count",
    ),
    "a size that is a lie": Hostile(
        lambda: patched(
            zipped({GELU: bytes(32 << 20)}), local=22, central=24, value=4, form="<I"
        ),
        "cannot be read",
    ),
    "tar bomb": Hostile(
        lambda: tarred({"junk": bytes(80 << 20), **MINE}),
        "unpacks to more than 64 MiB",
        "alice.tar.gz",
    ),
    "long name in a tar": Hostile(
        lambda: tarred({"n" * (1 << 17): b""}), "name that is too long", "alice.tar.gz"
    ),
    "no file": Hostile(lambda: zipped({}), NONE),
    "no file in a tar": Hostile(lambda: tarred({}), NONE, "alice.tar.gz"),
    "nothing": Hostile(lambda: b"", "cannot be read as a folder"),
    "text": Hostile(lambda: b"I was ill\n", "cannot be read as a folder"),
    "RAR": Hostile(lambda: b"Rar!\x1a\x07\x00", "it is a RAR archive"),
    "wrong ending": Hostile(lambda: tarred(MINE), r"alice: \d+ of"),
    "encrypted": Hostile(
        lambda: patched(zipped(MINE), local=6, central=8, value=1, form="<H"),
        "password required",
    ),
    "unknown compression": Hostile(
        lambda: patched(zipped(MINE), local=8, central=10, value=99, form="<H"),
        "compression method is not supported",
    ),
    "shared data": Hostile(twice, "not graded, it cannot be read"),
    "truncated zip": Hostile(lambda: zipped(MINE)[:-30], "cannot be read as a folder"),
    "truncated tar": Hostile(
        lambda: tarred({GELU: b"mine" * 1000}, gz=False)[:2000],
        "cannot be read",
        "alice.tar",
    ),
    "truncated tar.gz": Hostile(
        lambda: tarred(MINE)[:-40], "cannot be read as a folder", "alice.tar.gz"
    ),
    **{what: beside(kind, "/etc/passwd", LINK) for kind, what in LINKS},
    **{what: beside(kind, "", NO_FILE) for kind, what in DEVICES},
}
