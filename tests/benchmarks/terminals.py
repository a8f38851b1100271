"""Programs on terminals of their own, here and over ssh on loopback, and what they use.

Bytes are exact; times on a busy machine are not, so computing is measured in CPU time.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import os
import pty
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 60.0
"""Only so that a broken program does not hang the benchmark."""
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
_WHERE = b"\x1b[6n"
LEAN = {"TERM": "xterm-256color", "LANG": "C.UTF-8"}
"""As ssh brings it: no COLORTERM."""


class LackingError(Exception):
    """What this machine does not have, in words."""


class Terminal:
    """A program on a pseudo-terminal, read at full speed or slowly."""

    def __init__(
        self,
        *argv: str,
        size: tuple[int, int] = (120, 40),
        rate_bytes_per_s: float | None = None,
    ) -> None:
        self.raw = b""
        self.rate = rate_bytes_per_s
        self._begin_s = time.perf_counter()
        self._taken = 0
        self._answers = 0
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self.process = subprocess.Popen(
            argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**kept, **LEAN, "PYTHONPATH": str(ROOT)},
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            start_new_session=True,
        )
        os.close(slave)

    def read(self, wait_s: float = 0.05) -> bool:
        """Take what has come; False once nothing comes any more."""
        if not select.select([self.master], [], [], wait_s)[0]:
            return True
        most = 65536
        if self.rate is not None:
            most = 2048
            due_s = self._begin_s + self._taken / self.rate
            time.sleep(max(due_s - time.perf_counter(), 0.0))
        try:
            data = os.read(self.master, most)
        except OSError:
            return False
        # A reader who waits does not take more afterwards.
        now_s = time.perf_counter()
        if self.rate is not None and self._begin_s + self._taken / self.rate < now_s - 0.1:
            self._begin_s, self._taken = now_s, 0
        self._taken += len(data)
        self.raw += data
        if self.raw.count(_WHERE) > self._answers:
            # A line is one cell wide here, and a terminal says so.
            self._answers += 1
            self.press("\x1b[1;2R")
        return bool(data)

    def until(self, is_there: Callable[[bytes], bool]) -> float:
        """Read until something has come; returns the seconds it took."""
        begin_s = time.perf_counter()
        while not is_there(self.raw):
            if not self.read() or time.perf_counter() - begin_s > DEADLINE_S:
                raise RuntimeError(f"not seen: {self.raw[-500:]!r}")
        return time.perf_counter() - begin_s

    def during(self, seconds: float) -> int:
        """Bytes that come within some seconds."""
        before, end_s = len(self.raw), time.perf_counter() + seconds
        while (left_s := end_s - time.perf_counter()) > 0:
            self.read(left_s)
        return len(self.raw) - before

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def until_end(self) -> float:
        """Seconds until it has ended, reading on."""
        begin_s = time.perf_counter()
        while self.read() and self.process.poll() is None:
            if time.perf_counter() - begin_s > DEADLINE_S:
                raise RuntimeError("still running")
        self.process.wait(DEADLINE_S)
        ended_s = time.perf_counter() - begin_s
        # A slow reader is behind: the terminal still holds the end of what was written.
        while select.select([self.master], [], [], 0)[0] and self.read():
            pass
        return ended_s

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):
            os.close(self.master)


def cpu_s(pid: int) -> float:
    """CPU seconds that a process has used, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be asked for its status does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Server:
    """An sshd on loopback with keys of its own, in a folder that is thrown away."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        for name in ("host", "user"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        config = folder / "config"
        config.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\n"
            f"AuthorizedKeysFile {folder}/user.pub\nStrictModes no\nUsePAM no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
            f"SetEnv PYTHONPATH={ROOT}\nAcceptEnv LANG\nPrintMotd no\nPrintLastLog no\n"
        )
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [str(SSHD), "-D", "-e", "-f", str(config)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        self._wait()

    def _wait(self) -> None:
        end_s = time.perf_counter() + DEADLINE_S
        while time.perf_counter() < end_s:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError((self.folder / "log").read_text())

    def client(self, *arguments: str, has_terminal: bool = True) -> list[str]:
        """The command line that runs `gpuflow` there; its process number goes to a file."""
        remote = (
            f"echo $$ > {self.pid_file}; exec {sys.executable} -m gpuflow {' '.join(arguments)}"
        )
        return [
            *("ssh", "-F", "none", "-p", str(self.port), "-i", str(self.folder / "user")),
            *("-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={self.folder}/known"),
            *("-o", "SendEnv=LANG", "-o", "LogLevel=ERROR", "-tt" if has_terminal else "-T"),
            *(f"{getpass.getuser()}@127.0.0.1", remote),
        ]

    @property
    def pid_file(self) -> Path:
        return self.folder / "pid"

    @property
    def pid(self) -> int:
        """Of the program that was last started there."""
        return int(self.pid_file.read_text())

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


@contextlib.contextmanager
def ssh_server() -> Iterator[Server]:
    """An sshd for as long as it is needed.

    Raises:
        LackingError: There is none to be had.
    """
    if SSHD is None or shutil.which("ssh") is None:
        raise LackingError("needs OpenSSH's server and client")
    if os.getuid() == 0:
        # Where no sshd has ever run; left there, for another test run may be using it by then.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        server = Server(Path(name))
        try:
            yield server
        finally:
            server.close()


def end(pid: int) -> None:
    """Make sure that a process has gone."""
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)
