"""Where children come from: a process that has loaded everything, holds no row and no ledger, and forks on demand.

    python -m discreet.service.running.nursery PATH

A child that was killed is replaced in a twentieth of a second instead of several; children share the memory of what
they all have loaded.  The nursery has warmed itself by answering a question about made-up rows, with a ledger in
memory.  It never opens the curator's data, nor its ledger: each child does, after it was forked, alone.

On its standard input, a socket, it is told {folder, memory, store} with the two ends of pipes that the child is to
have, and answers with a handle of the new process (a pidfd: it means that process for ever) and its number.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.data.engines.results import logged
from discreet.service.running import child
from discreet.service.running.limits import alone

LONGEST = 65_536  # bytes of one request
LOOK = 1.0  # seconds between looks for children that have died


def warm(path: Path, memory: int) -> None:
    """Load what answers need, and test the engine, by asking about made-up rows of tables with and without units."""
    from discreet.curator import config
    from discreet.curator.curator import Curator
    from discreet.curator.mock import mock
    from discreet.privacy.guarantee import PureDP

    declared = config.tables(config.read(path), path.parent)
    known = set[bool]()
    for table in declared.values():
        mine = child.on_one_thread(table, memory)
        if table.public or mine.engine is None or (table.unit is None) in known:
            continue
        known.add(table.unit is None)
        if table.unit is not None:
            from discreet.data.engines import kernels, texts  # noqa: F401 - ids of either kind, whichever the rows have
        fake = replace(mine, source=mock(table, 8))
        with Curator({"fake": fake}, budget=PureDP(1), ledger=":memory:") as curator:
            curator.ask("SELECT COUNT(*) AS n FROM fake", epsilon=1).to_dict()


def main(arguments: list[str], *, serve: Callable[[Path, dict[str, Any]], None] = child.main) -> None:
    """Fork a child for each request, until the parent goes away."""
    alone()
    path = Path(arguments[0])
    parent = socket.socket(fileno=os.dup(0))
    parent.settimeout(LOOK)
    cold = True
    while True:
        _reap()
        try:
            body, handles, _, _ = socket.recv_fds(parent, LONGEST, 2)
        except TimeoutError:
            continue
        if not body:
            return
        settings = json.loads(body)
        if cold:
            _warmed(path, int(settings["memory"]))
            cold = False
        number = os.fork()
        if number == 0:
            parent.close()
            _begin(path, settings, handles, serve)
        for handle in handles:
            os.close(handle)
        process = os.pidfd_open(number)
        socket.send_fds(parent, [number.to_bytes(8)], [process])
        os.close(process)


def _warmed(path: Path, memory: int) -> None:
    """Warm, and settled: what all children share is not touched again."""
    try:
        warm(path, memory)
    except Exception as error:  # children will say what is wrong with the file
        logged("warming", error)
    gc.collect()
    gc.freeze()  # so that collecting garbage copies no pages


def _begin(
    path: Path, settings: dict[str, Any], handles: list[int], serve: Callable[[Path, dict[str, Any]], None]
) -> None:
    """Be a child: with its own pipes, session and folder, and gone at the end whatever happens."""
    try:
        alone()
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children itself
        for wanted, handle in enumerate(handles):
            os.dup2(handle, wanted)
            os.close(handle)
        os.chdir(settings["folder"])
        os.environ["TMPDIR"] = tempfile.tempdir = settings["folder"]
        serve(path, settings)
    except BaseException:  # a traceback would quote what was in scope
        os._exit(1)
    os._exit(0)


def _reap() -> None:
    """Take note of children that have died."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    main(sys.argv[1:])
