# SPDX-License-Identifier: MIT
"""Ends objects that hold workers, files or threads when their `with` block ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

_Holder = TypeVar("_Holder", bound="Closing")


class Closing(ABC):
    """`with` for a class that has `close`."""

    @abstractmethod
    def close(self) -> None:
        """End what was started."""

    def __enter__(self: _Holder) -> _Holder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
