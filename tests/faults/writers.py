"""A program to be traced: everything of ours that puts a file where somebody will look for it after a power cut.

python -m tests.faults.writers write FOLDER        every writer twice: the second replaces what was there, or adds
python -m tests.faults.writers write FOLDER TWIN   the same, without the syncs of files or of folders

A line `released NAME` says that the call has returned: from then on the file is relied on.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from discreet.data import Boolean, Domain, Histogram
from discreet.learning.neural.checkpoint import Checkpoint, State
from discreet.ledger import Ledger
from discreet.ledger.witness_file import FileWitness
from discreet.privacy.guarantee import ZCDP, PureDP
from discreet.release import PrivateMultiplicativeWeights, once
from discreet.service.registering import register
from discreet.structured.streams.continual import ContinualCounter
from discreet.synthesis.adaptive import Progress
from discreet.synthesis.stored import save_progress
from discreet.synthesis.synthesizer import Synthesizer
from tests.faults.processes import main

BITS = Domain({"icu": Boolean(), "smokes": Boolean()})
FILE = """\
[budget]
epsilon = 1
[tables.a]
source = "a.csv"
[tables.a.columns]
x = { type = "boolean" }
"""


def _witness(folder: Path, turn: int) -> Path:
    witness = FileWitness(folder / "witness.json")
    assert witness.compare_and_set(None if turn == 0 else "1", f"text {turn}" * 300)
    return witness.path


def _counter(folder: Path, turn: int) -> Path:
    counter = ContinualCounter(horizon=100, upper=1, budget=PureDP(1))
    counter.add(1)
    counter.save(folder / f"counter{turn}.json")
    return folder / f"counter{turn}.json"


def _session(folder: Path, turn: int) -> Path:
    weights = PrivateMultiplicativeWeights(BITS, n=50_000, budget=PureDP(1), queries=9, suspensions=1)
    weights.open(Histogram(BITS, [12_500] * 4)).suspend().save(folder / f"session{turn}.npz")
    return folder / f"session{turn}.npz"


def _synthesis(folder: Path, turn: int) -> Path:
    save_progress(folder / "rounds.json", Synthesizer(BITS, budget=ZCDP(1)), Progress([], fitting=float(turn)))
    return folder / "rounds.json"


def _network(folder: Path, turn: int) -> Path:
    with Checkpoint(folder / "run.npz", {"steps": 9}) as file:
        file.save(State(step=turn, rows=10, weights=np.ones(300), velocity=np.ones(300), mean=np.ones(300)))
    return folder / "run.npz"


def _declaration(folder: Path, turn: int) -> Path:
    file = folder / "curator.toml"
    if turn == 0:
        once.replace_whole(file, lambda out: out.write(FILE.encode()))
    register(file, f"t{turn}", {"source": "b.csv", "columns": {"x": {"type": "boolean"}}})
    return file


def _ledger(folder: Path, turn: int) -> Path:
    Ledger.open(folder / f"new{turn}.db").close()
    return folder / f"new{turn}.db"


WRITERS: dict[str, Callable[[Path, int], Path]] = {
    "witness": _witness,
    "counter": _counter,
    "session": _session,
    "synthesis": _synthesis,
    "network": _network,
    "declaration": _declaration,
    "ledger": _ledger,
}
TWINS = {"files": os.O_WRONLY, "folders": os.O_RDONLY}  # whose syncs do nothing: of handles that write, or of others


def _weaken(twin: str) -> None:
    """Leave out the syncs of one kind, as somebody who forgot them would."""
    import fcntl

    sync = os.fsync

    def weaker(handle: int) -> None:
        writes = fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
        if writes != (TWINS[twin] == os.O_WRONLY):
            sync(handle)

    os.fsync = weaker


def write(folder: str, twin: str = "") -> dict[str, list[str]]:
    """Call each writer twice; each time say which file may be relied on."""
    if twin:
        _weaken(twin)
    said: dict[str, list[str]] = {}
    for name, writer in WRITERS.items():
        for turn in range(2):
            path = writer(Path(folder), turn)
            os.write(1, f"released {path.name}\n".encode())
            said.setdefault(name, []).append(path.name)
    return said


if __name__ == "__main__":
    main({"write": write})
