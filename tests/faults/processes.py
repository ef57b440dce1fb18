"""Processes that are started, watched, stopped and killed: none outlives the test that started it."""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from discreet.ledger import postgres, sqlite

ROOT = Path(__file__).parents[2]
PATIENCE_S = 1200  # for a whole program; it never decides a test, unless something hangs


def run(program: str, *arguments: object, before: list[str] | None = None) -> object:
    """Run a module beside this one as a program, and read the JSON it prints."""
    command = [*(before or []), sys.executable, "-m", f"tests.faults.{program}", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)} failed ({done.returncode}):\n{done.stderr[-4000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main(jobs: dict[str, Callable[..., object]]) -> None:
    """Do the job named on the command line and print what it gives as JSON."""
    be_patient()
    job, *arguments = sys.argv[1:]
    print(json.dumps(jobs[job](*(int(word) if word.isdigit() else word for word in arguments))), flush=True)


def be_patient() -> None:
    """Wait for locks as long as it takes: a slow machine is none of the faults that are tried here."""
    sqlite.PATIENCE = postgres.PATIENCE = postgres.IDLE = PATIENCE_S


class Child:
    """A forked process that does one thing and says lines; it dies with its parent."""

    def __init__(self, work: Callable[[Callable[[str], None]], None]) -> None:
        self._inward, out = os.pipe()
        parent, self._heard = os.getpid(), b""
        self.pid = os.fork()
        if self.pid:
            os.close(out)
            return
        code = 1
        try:
            os.close(self._inward)
            _die_with(parent)
            work(lambda line: _say(out, line))
            code = 0
        except BaseException as error:
            _say(2, f"{type(error).__name__}: {error}")
            raise
        finally:
            os._exit(code)

    def fileno(self) -> int:
        """For `select`: readable when it has said something more, or is dead."""
        return self._inward

    def hears(self) -> bool:
        """Wait until it has said something more, or is dead; False if it is dead."""
        select.select([self._inward], [], [])
        more = os.read(self._inward, 1 << 16)
        self._heard += more
        return bool(more)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> list[str]:
        """Kill it with SIGKILL, reap it, and give back every line it said; it must not have ended before."""
        self.signal(signal.SIGKILL)
        said = self.end()
        assert os.WIFSIGNALED(self.status), f"it failed after {len(said)} lines, before it was killed"
        return said

    def stop(self) -> list[str]:
        """Kill it unless it is done; it must not have failed."""
        self.signal(signal.SIGKILL)
        said = self.end()
        assert self.status in (0, signal.SIGKILL), f"it failed after {len(said)} lines"
        return said

    def end(self) -> list[str]:
        """Wait for its end and give back every line it said."""
        while self.hears():
            pass
        os.close(self._inward)
        self.status = os.waitpid(self.pid, 0)[1]
        return self._heard.decode().splitlines()


def _say(out: int, line: str) -> None:
    """One line in one write: it is heard whole or not at all."""
    os.write(out, f"{line}\n".encode())


def _die_with(parent: int) -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)
