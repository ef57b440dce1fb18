"""A service in processes of its own, on a socket that the test holds: it may be killed, and started again.

Connections that come while no server is there wait in the socket, as they would before a supervisor's restart.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from discreet.errors import ServiceError
from discreet.service.settings import Settings
from discreet.service.store import open_store
from discreet.service.tokens import issue

PROGRAM = """
import socket, sys, uvicorn
from discreet.service.app import create_app
from discreet.service.serve import LIMITS

config = uvicorn.Config(create_app(sys.argv[1]), log_level="critical", access_log=False, **LIMITS)
uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(sys.argv[2]))])
"""
PATIENCE = 120.0  # seconds for a server to come up on a loaded machine


class Service:
    """Servers of one curator's file, `workers` of them on one socket."""

    def __init__(self, file: Path, *, workers: int = 1) -> None:
        self.file, self.workers = file, workers
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.processes: list[subprocess.Popen] = []

    def token(self, principal: str = "ada", role: str = "analyst", **given: object) -> str:
        """A new token, made as an operator makes one."""
        with open_store(Settings.read(self.file)) as store:
            return issue(store, principal=principal, role=role, days=1, **given)

    def start(self) -> None:
        """Start the servers that are missing; requests may be sent at once, and wait."""
        handle, log = self.socket.fileno(), (self.file.parent / "server.log").open("ab")
        command = [sys.executable, "-c", PROGRAM, str(self.file), str(handle)]
        with log:
            for _ in range(self.workers - len(self.processes)):
                self.processes.append(subprocess.Popen(command, pass_fds=[handle], stdout=log, stderr=log))

    def ready(self) -> None:
        """Wait until a server answers."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            assert any(process.poll() is None for process in self.processes), self.log()
            try:
                if httpx.get(f"{self.url}/v1/ready", timeout=5, trust_env=False).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"the service did not come up: {self.log()}")

    def log(self) -> str:
        """What the servers said last."""
        return (self.file.parent / "server.log").read_text(errors="replace")[-2000:]

    def kill(self) -> None:
        """End the servers without a word to them, as a power switch does; their children end with them."""
        for process in self.processes:
            process.kill()
        self._buried()

    def kill_one(self, place: int) -> None:
        """End one of the servers in the same way."""
        process = self.processes.pop(place)
        process.kill()
        process.wait(timeout=PATIENCE)

    def families(self) -> dict[int, list[int]]:
        """The children that each server has, by their numbers; those of a server that comes up may be none."""
        return {
            process.pid: [child for nursery in _children(process.pid) for child in _children(nursery)]
            for process in self.processes
        }

    def nurseries(self) -> list[int]:
        """The processes that the children are forked from."""
        return [nursery for process in self.processes for nursery in _children(process.pid)]

    def stop(self) -> None:
        """Ask the servers to end."""
        for process in self.processes:
            process.terminate()
        self._buried()

    def _buried(self) -> None:
        for process in self.processes:
            try:
                process.wait(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()


def _children(number: int) -> list[int]:
    """The processes that a process has started, as the kernel has them now."""
    found: list[int] = []
    for task in Path(f"/proc/{number}/task").glob("*/children"):
        with suppress(OSError):  # it has ended
            found += map(int, task.read_text().split())
    return found


def patiently(ask, tries: int = 20):
    """What `ask` gives, and how often it was charged: a machine under load may withhold an answer for being late."""
    for charged in range(1, tries):
        try:
            return ask(), charged
        except ServiceError as error:
            if (error.kind, error.charged) != ("withheld", True):
                raise
    return ask(), tries


@contextmanager
def serving(file: Path, *, workers: int = 1):
    """A running service, ended afterwards."""
    service = Service(file, workers=workers)
    try:
        service.start()
        service.ready()
        yield service
    finally:
        service.stop()
        service.socket.close()
