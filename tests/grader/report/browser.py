# SPDX-License-Identifier: MIT
"""A headless Chromium for tests, spoken to through pipes by the standard library.

It keeps what the page printed, the errors it raised and every address it asked for.
Host names lead nowhere, so that a page that asks for something is caught twice.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

ABOVE = 100  # descriptors that the shell's 3 and 4 do not meet
OPTIONS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
]


def chromium() -> str | None:
    """The program, if this machine has it."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page of one browser; `close` ends it with all its processes."""

    def __init__(self, profile: Path, *, deadline: float = 60.0) -> None:
        program = chromium()
        assert program, "there is no chromium"
        self.deadline = deadline
        self.printed: list[str] = []  # console messages and uncaught errors
        self.requests: list[str] = []
        self._number = 0
        self._session: str | None = None
        self._rest = b""
        self._loaded = False
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        given = [
            fcntl.fcntl(fd, fcntl.F_DUPFD, ABOVE) for fd in (theirs_in, theirs_out)
        ]
        start = f'exec "$0" "$@" 3<&{given[0]} 4>&{given[1]}'
        options = [*OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", start, program, *options],
            pass_fds=given,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for fd in (theirs_in, theirs_out, *given):
            os.close(fd)
        self._in, self._out = ours_in, ours_out
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _attach(self) -> None:
        made = self.call("Target.createTarget", url="about:blank")
        target = made["targetId"]
        found = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    # ---- the protocol ----------------------------------------------------------------

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command and its answer; events that come first are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + self.deadline
        while True:
            answer = self._read(end)
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self._event(answer)

    def _read(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], end - time.monotonic())
            assert ready, f"chromium did not answer within {self.deadline} s"
            piece = os.read(self._in, 1 << 20)
            assert piece, "chromium has ended"
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _event(self, event: dict[str, Any]) -> None:
        about = event.get("params", {})
        match event.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(about["request"]["url"])
            case "Runtime.consoleAPICalled":
                said = [
                    str(a.get("value", a.get("description"))) for a in about["args"]
                ]
                self.printed.append(" ".join(said))
            case "Runtime.exceptionThrown":
                self.printed.append(json.dumps(about["exceptionDetails"]))
            case "Log.entryAdded":
                self.printed.append(about["entry"]["text"])
            case "Page.loadEventFired":
                self._loaded = True

    # ---- what tests ask for ----------------------------------------------------------

    def look(self, *, width: int, height: int = 900, **features: str) -> None:
        """The window's size, and the media features: color_scheme="dark"."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        named = [
            {"name": f"prefers-{name.replace('_', '-')}", "value": value}
            for name, value in features.items()
            if name != "media"
        ]
        media = features.get("media", "")
        self.call("Emulation.setEmulatedMedia", media=media, features=named)

    def open(self, file: Path) -> None:
        """Load a page from a file and wait until it is there."""
        self.printed.clear()
        self.requests.clear()
        self._loaded = False
        self.call("Page.navigate", url=file.as_uri())
        end = time.monotonic() + self.deadline
        while not self._loaded:
            self._event(self._read(end))

    def value(self, expression: str) -> Any:
        """What an expression is in the page; an error there is one here."""
        found = self.call(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def paper(self, file: Path) -> None:
        """The page as it is printed."""
        made = self.call("Page.printToPDF", preferCSSPageSize=True)
        file.write_bytes(base64.b64decode(made["data"]))

    def close(self) -> None:
        """End the browser with everything it has started."""
        for fd in (self._in, self._out):
            os.close(fd)
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
