"""Where a training run stands, in a file from which it can go on, and from no other place at the same time.

A checkpoint holds what is public anyway: weights, their velocity and mean, computed from noisy sums, and the settings.
It is written before the first step, and before anybody is shown anything of an epoch, so that whatever a stopped run
has shown is in it: the steps after it were seen by nobody and are drawn afresh at no charge.  The run holds a lock as
long as it lives, and removes the file before it hands out the model.  So one run is finished once, and paid for once.
A run that a ledger paid for names the charge among its settings; its file is removed once the model is stored.  A copy
of the file breaks this: whoever finishes both spends twice.  Theory: docs/theory/private_gradients.md.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from discreet.data.stored_bytes import Archive, text
from discreet.errors import LedgerError, ParameterError
from discreet.release.once import names_to_disk, replace_whole

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

FORMAT = "discreet training run 1"
_MEMBERS = ("head.npy", "weights.npy", "velocity.npy", "mean.npy")


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Where a run stands after `step` steps."""

    step: int
    rows: int  # about so many rows, by what is public
    weights: Floats
    velocity: Floats
    mean: Floats
    scores: tuple[float | None, ...] = ()


class Checkpoint:
    """The file of one run.  `settings` are those that must not change before the run ends.

    >>> import tempfile, numpy as np
    >>> path = Path(tempfile.mkdtemp()) / "run.npz"
    >>> zeros = np.zeros(3, dtype=np.float32)
    >>> with Checkpoint(path, {"steps": 10}) as file:
    ...     file.save(State(5, 100, zeros, zeros, zeros))
    >>> with Checkpoint(path, {"steps": 10}) as file:
    ...     step = file.load().step
    ...     file.remove()
    >>> step, path.exists()
    (5, False)
    """

    def __init__(self, path: str | Path, settings: Mapping[str, object]) -> None:
        self._path, self._settings = Path(path), json.dumps(dict(settings), sort_keys=True)
        self._lock: BinaryIO | None = None

    def __enter__(self) -> Checkpoint:
        self._lock = self._path.with_name(self._path.name + ".lock").open("wb")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise LedgerError(f"a run is going on from {self._path}: it can be finished once") from None
        return self

    def __exit__(self, *_: object) -> None:
        """Let go; the system does so for a process that dies."""
        assert self._lock is not None
        self._lock.close()

    def exists(self) -> bool:
        """Whether a stopped run waits."""
        return self._path.exists()

    def begin(self) -> None:
        """Refuse to start where a stopped run waits."""
        if self.exists():
            raise LedgerError(f"a stopped run waits at {self._path}: go on with resume(), or remove it")

    def save(self, state: State) -> None:
        """Put the state on the disk in place of the last one."""
        import numpy as np

        record = {
            "format": FORMAT, "settings": self._settings, "step": state.step, "rows": state.rows, "scores": state.scores
        }  # fmt: skip
        head = np.frombuffer(json.dumps(record).encode(), dtype=np.uint8)
        arrays = {"head": head, "weights": state.weights, "velocity": state.velocity, "mean": state.mean}
        replace_whole(self._path, lambda file: np.savez(file, **arrays))

    def charge(self) -> str:
        """The charge that the file on the disk names, "" if none."""
        return json.loads(self._read()[0]).get("charge", "")

    def load(self) -> State:
        """The state on the disk, if it is one of a run with these settings."""
        settings, state = self._read()
        if settings != self._settings:
            raise ParameterError("need the settings of the stopped run to go on with it, got others")
        return state

    def _read(self) -> tuple[str, State]:
        """The settings and the state on the disk."""
        import numpy as np

        damaged = LedgerError(f"the file {self._path} is damaged, or no training run")
        try:
            stored = Archive(self._path.read_bytes(), known=_MEMBERS.__contains__)
            record = text(stored.array("head.npy").tobytes())
            weights, velocity, mean = (stored.array(f"{name}.npy") for name in ("weights", "velocity", "mean"))
            step, rows, scores = int(record["step"]), int(record["rows"]), tuple(record["scores"])
            settings, known = str(record["settings"]), record["format"] == FORMAT
            known = known and isinstance(json.loads(settings), dict)
        except FileNotFoundError:
            raise LedgerError(f"there is no stopped run at {self._path}; it may have ended") from None
        except (ValueError, KeyError, TypeError):
            raise damaged from None
        if not known or any(one.dtype != np.float32 or one.shape != weights.shape for one in (weights, velocity, mean)):
            raise damaged
        return settings, State(step, rows, weights, velocity, mean, scores)

    def remove(self) -> None:
        """The run is over: nobody goes on from here.  Before the model is handed out."""
        os.unlink(self._path)
        names_to_disk(self._path.parent)
