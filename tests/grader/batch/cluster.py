# SPDX-License-Identifier: MIT
"""A Slurm of Debian's packages on this machine: a controller, and nodes that can die.

Each node has a host name of its own (a namespace of its own for it), and so have all
its processes: these are killed when a node dies.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

NODES = ("one", "two")
DAEMONS = ("munged", "slurmctld", "slurmd", "sbatch")
SECONDS = 60.0
CONF = """ClusterName=convlab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={home}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={home}/state
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/%n.pid
SlurmdSpoolDir={home}/spool.%n
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core,CR_LLN
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=10
KillWait=10
JobRequeue=1
GresTypes=gpu
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
PartitionName=timing Nodes=two State=UP
"""
NODE = "NodeName={0} NodeHostname={0} NodeAddr=127.0.0.1 Port={1}"
NODE += " CPUs=2 RealMemory=16000"


def missing() -> str:
    """Why there can be no Slurm here; "" if there can be one."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    lacks = [name for name in DAEMONS if not shutil.which(name, path=path)]
    if lacks:
        return f"{', '.join(lacks)}: not installed (make system-packages)"
    return "" if os.geteuid() == 0 else "Slurm's daemons need root"


class Cluster:
    """The daemons, and the environment in which Slurm's commands find them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._spaces: dict[str, str] = {}  # of each node's processes, never ours
        self.environment = {**os.environ, "SLURM_CONF": str(home / "slurm.conf")}
        self.environment["PATH"] += ":/usr/sbin"
        ports = [_free_port() for _ in range(len(NODES) + 1)]
        nodes = [NODE.format(*one) for one in zip(NODES, ports[1:], strict=True)]
        nodes[-1] += " Gres=gpu:1"
        conf = CONF.format(
            host=socket.gethostname(),
            port=ports[0],
            home=home,
            nodes="\n".join(nodes),
        )
        (home / "slurm.conf").write_text(conf)
        (home / "gres.conf").write_text("NodeName=two Name=gpu File=/dev/null\n")
        (home / "munge.key").write_bytes(secrets.token_bytes(128))
        (home / "munge.key").chmod(0o400)
        (home / "state").mkdir()
        home.chmod(0o711)

    def start(self) -> None:
        """Until all nodes are idle."""
        names = {"key-file": "key", "pid-file": "pid", "seed-file": "seed"}
        names |= {"log-file": "log", "socket": "socket"}
        files = [f"--{name}={self.home}/munge.{end}" for name, end in names.items()]
        self._start("munged", "munged", "--foreground", "--force", *files)
        until(lambda: (self.home / "munge.socket").exists())
        self._start("slurmctld", "slurmctld", "-D")
        for node in NODES:
            self.power_on(node)
        until(lambda: set(self.states().values()) == {"idle"})

    def power_on(self, node: str) -> None:
        """Start a node's daemon, with a host name of its own."""
        daemon = f"hostname {node}; exec slurmd -D -N {node}"
        self._start(node, "unshare", "--uts", "sh", "-c", daemon)
        pid = self._daemons[node].pid
        self._spaces[node] = until(lambda: _space(pid) != _space() and _space(pid))

    def stop(self, node: str) -> None:
        """All processes of a node stand still."""
        self._signal(node, signal.SIGSTOP)

    def go_on(self, node: str) -> None:
        """They go on."""
        self._signal(node, signal.SIGCONT)

    def _signal(self, node: str, number: signal.Signals) -> None:
        for process in _inside(self._spaces[node]):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def power_off(self, node: str) -> None:
        """All processes of a node are killed."""
        space = self._spaces.pop(node)
        while processes := _inside(space):
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        self._daemons.pop(node).wait()

    def states(self) -> dict[str, str]:
        """What Slurm says of each node."""
        lines = self.ask("sinfo --noheader --Node --format=%N=%T").split()
        return dict(line.split("=") for line in lines)

    def ask(self, words: str) -> str:
        """What a command of Slurm prints; nothing while the controller starts."""
        done = subprocess.run(
            shlex.split(words),
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        return done.stdout

    def close(self) -> None:
        for node in list(self._spaces):
            self.power_off(node)
        for daemon in self._daemons.values():
            daemon.terminate()
            daemon.wait(SECONDS)

    def _start(self, name: str, *command: str) -> None:
        with (self.home / f"{name}.said").open("ab") as said:
            self._daemons[name] = subprocess.Popen(
                command, env=self.environment, stdout=said, stderr=said
            )


@contextlib.contextmanager
def running() -> Iterator[Cluster]:
    """A cluster; its folder has a short name, because a socket lies there."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as home:
        made = Cluster(Path(home))
        try:
            made.start()
            yield made
        finally:
            made.close()


def until(true: Callable[[], Any], seconds: float = SECONDS) -> Any:
    """What is true in the end."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def _space(process: int | str = "self") -> str:
    """The namespace of a process for host names; "" if it has ended."""
    try:
        return str(Path(f"/proc/{process}/ns/uts").readlink())
    except OSError:
        return ""


def _inside(space: str) -> list[int]:
    """The processes of a namespace, parents first."""
    processes = (int(one.name) for one in Path("/proc").glob("[0-9]*"))
    return sorted(one for one in processes if _space(one) == space)


def _free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        port: int = opened.getsockname()[1]
        return port
