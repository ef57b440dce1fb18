"""Checkpoints of a synthesizer: everything measured so far, in JSON.

The file holds noisy tables only.  It is tied to the domain, the budget and the schedule; a run that goes on from it
draws fresh noise for the rounds that are left.  Go on from a file once, on the same data: two runs from copies of it
are two releases of those rounds, and cost twice; of other data a finished file says nothing.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.release.models.estimate import Measurement
from discreet.synthesis.adaptive import Progress

if TYPE_CHECKING:
    from discreet.synthesis.synthesizer import Synthesizer

VERSION = 1


def save_progress(path: str | Path, synthesizer: Synthesizer, progress: Progress) -> None:
    """Write the file whole or not at all."""
    import numpy as np

    measurements = [
        {
            "columns": list(one.columns),
            "shape": list(np.shape(one.values)),
            "values": np.asarray(one.values, dtype=np.float64).ravel().tolist(),
            "sd": one.sd,
            "bins": [None if bins is None else np.asarray(bins).tolist() for bins in one.bins or ()],
        }
        for one in progress.measurements
    ]
    text = {
        "version": VERSION,
        "settings": _settings(synthesizer),
        "rounds": progress.rounds,
        "chosen": [list(names) for names in progress.chosen],
        "measurements": measurements,
    }
    part = Path(f"{path}.part")
    with part.open("w", encoding="utf-8") as file:
        json.dump(text, file)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def load_progress(path: str | Path, synthesizer: Synthesizer) -> Progress | None:
    """What a file holds, or None where there is none yet; refused where it belongs to another run."""
    import numpy as np

    if not Path(path).exists():
        return None
    try:
        text = json.loads(Path(path).read_text(encoding="utf-8"))
        same = text["version"] == VERSION and text["settings"] == _settings(synthesizer)
        made = [
            Measurement(
                tuple(one["columns"]),
                np.array(one["values"]).reshape(one["shape"]),
                sd=one["sd"],
                bins=tuple(None if bins is None else np.array(bins, dtype=np.int64) for bins in one["bins"]),
            )
            for one in text["measurements"]
        ]
        progress = Progress(made, rounds=text["rounds"], chosen=[tuple(names) for names in text["chosen"]])
    except (ValueError, KeyError, TypeError):
        raise ParameterError(f"{str(path)!r} is not a checkpoint of a synthesizer") from None
    if not same:
        raise ParameterError(f"the checkpoint {str(path)!r} belongs to another domain, budget or schedule")
    return progress


def _settings(synthesizer: Synthesizer) -> dict[str, object]:
    """Everything that the meaning and the price of the measurements depend on."""
    import numpy as np

    plan = synthesizer.schedule
    zeros = [
        [list(names), np.packbits(np.asarray(marked, dtype=bool)).tobytes().hex()]
        for names, marked in (synthesizer.zeros or {}).items()
    ]
    made = {
        "domain": synthesizer.encoding.domain.to_dict(),
        "edges": {name: edges.tolist() for name, edges in synthesizer.encoding.edges.items()},
        "budget": repr(synthesizer.budget),
        "neighbours": synthesizer.neighbours.__name__,
        "n": synthesizer.n,
        "rows_per_unit": synthesizer.rows_per_unit,
        "rounds": plan.rounds,
        "singles": repr(plan.singles),
        "noise": repr(plan.noise),
        "choice": repr(plan.choice),
        "method": synthesizer.method,
        "cells": synthesizer.cells,
        "tables": [[list(names), weight] for names, weight in synthesizer.weights.items()],
        "zeros": zeros,
    }
    return json.loads(json.dumps(made))
