"""A SLURM of a test's own on this machine: its configuration, ports, key and logs are in one folder, and it always ends.

A SLURM that the machine has is not touched: every command finds this one by SLURM_CONF, and its own munge by a socket.
"""

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import psutil

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "squeue", "sinfo")
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])  # where Debian has daemons
CONFIGURATION = """
ClusterName=dimfree
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={controller}
SlurmdPort={node}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory={megabytes}
PartitionName=short Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""


class DoesNotStart(Exception):
    """SLURM is installed, and does not run here; the message says what it logged last."""


def why_not() -> str:
    """Why there can be no SLURM of a test's own here; empty if there can."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    if missing:
        return f"SLURM is not installed ({missing[0]} is missing)"
    return "" if os.geteuid() == 0 else "only root can start a SLURM"


def until(happens: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait for something that must happen."""
    end = time.monotonic() + seconds
    while not happens():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not happen within {seconds:g} seconds")
        time.sleep(0.05)


class Slurm:
    """A running one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": PATH}

    def said(self, *command: str) -> str:
        """What a command of SLURM prints."""
        found = subprocess.run(command, check=False, env=self.environment, capture_output=True, text=True, timeout=30)
        if found.returncode:
            raise OSError(f"{command[0]}: {found.stderr.strip()}")
        return found.stdout.strip()

    def jobs(self) -> dict[str, str]:
        """The states of all jobs that wait or run, by number."""
        lines = self.said("squeue", "--noheader", "--format=%i %T").splitlines()
        return dict(line.split() for line in lines)  # type: ignore[misc]

    def start(self, *command: str) -> "subprocess.Popen[bytes]":
        """A daemon in the foreground."""
        with (self.folder / "started.log").open("ab") as log:
            return subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


@contextmanager
def own_slurm(cores: int = 2) -> Iterator[Slurm]:
    """Start munged, slurmctld and slurmd, wait until the node is idle, and end them with all their jobs in any case."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="dimfree-slurm-", dir="/tmp"))  # sockets need short names
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)
        for name in ("state", "spool"):
            (folder / name).mkdir()
        key = folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        controller, node = _free_ports(2)
        host = socket.gethostname().partition(".")[0]
        megabytes = psutil.virtual_memory().total >> 21  # half of them: more than there are would be refused
        text = CONFIGURATION.format(
            folder=folder, host=host, controller=controller, node=node, cores=cores, megabytes=megabytes
        )
        (folder / "slurm.conf").write_text(text)
        slurm = Slurm(folder)
        stack.callback(_end_all, slurm)
        files = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "seed", "log")]
        try:
            _daemon(stack, slurm.start("munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *files))
            until((folder / "munge.socket").exists, 20, "munge")
            _daemon(stack, slurm.start("slurmctld", "-D", "-f", str(folder / "slurm.conf")))
            _daemon(stack, slurm.start("slurmd", "-D", "-f", str(folder / "slurm.conf"), "-N", host))
            until(lambda: _is_idle(slurm), 60, "an idle node")
        except (TimeoutError, OSError) as failure:
            raise DoesNotStart(f"{failure}; {_last_words(folder)}") from None
        stack.callback(_cancel_all, slurm)
        yield slurm


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(closing(socket.socket())) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _daemon(stack: ExitStack, process: "subprocess.Popen[bytes]") -> None:
    def end() -> None:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    stack.callback(end)


def _is_idle(slurm: Slurm) -> bool:
    with suppress(OSError, subprocess.TimeoutExpired):
        return slurm.said("sinfo", "--noheader", "--format=%t") == "idle"
    return False


def _cancel_all(slurm: Slurm) -> None:
    with suppress(OSError, TimeoutError, subprocess.TimeoutExpired):
        if found := slurm.jobs():
            slurm.said("scancel", *found)
            until(lambda: not slurm.jobs(), 15, "the end of all jobs")


def _end_all(slurm: Slurm) -> None:
    """Kill what outlived its daemon: processes whose SLURM_CONF is the one of this folder."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("SLURM_CONF") == slurm.environment["SLURM_CONF"] and process.pid != os.getpid():
                process.kill()


def _last_words(folder: Path) -> str:
    logs = [path.read_text(errors="replace").strip() for path in sorted(folder.glob("*.log")) if path.stat().st_size]
    return "; ".join(log.splitlines()[-1] for log in logs if log) or "nothing was logged"
