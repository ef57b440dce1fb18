"""Checkpoints of a synthesizer, and the fitted model for the ledger: everything measured, in JSON.

    save_progress, load_progress   a file, from which a stopped run goes on
    to_bytes, from_bytes           a fitted model, which is then what it was

A checkpoint holds noisy tables only.  It is tied to the domain, the budget and the schedule; a run that goes on from it
draws fresh noise for the rounds that are left.  Go on from a file once, on the same data: two runs from copies of it
are two releases of those rounds, and cost twice; of other data a finished file says nothing.  A file that tells of more
or fewer rounds than it holds, or of more than are paid for, is refused; one that was cut to look like an older one is
as bad as that.
"""

from __future__ import annotations

import json
import math
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.data.canonical import digest
from discreet.data.stored_bytes import inflated, most
from discreet.data.stored_bytes import text as read_text
from discreet.errors import ParameterError, UnsupportedError
from discreet.release.models.dense import DenseModel
from discreet.release.models.estimate import Measurement
from discreet.release.models.graphical import GraphicalModel
from discreet.release.models.stored import describe, rebuild
from discreet.release.once import replace_whole
from discreet.synthesis.adaptive import Progress
from discreet.synthesis.synthetic import Synthetic

if TYPE_CHECKING:
    from discreet.data.domain import Domain
    from discreet.synthesis.synthesizer import Synthesizer

VERSION = 1


def save_progress(path: str | Path, synthesizer: Synthesizer, progress: Progress, *, mark: str | None = None) -> None:
    """Write the file whole or not at all."""
    settings = settings_of(synthesizer)
    text = {"version": VERSION, "mark": mark, "settings": settings, "fitting": progress.fitting, **_written(progress)}
    content = json.dumps(text).encode()
    replace_whole(Path(path), lambda file: file.write(content))


def load_progress(path: str | Path, synthesizer: Synthesizer, *, mark: str | None = None) -> Progress | None:
    """What a file holds, or None where there is none yet; refused where it belongs to another run."""
    if not Path(path).exists():
        return None
    try:
        text = read_text(Path(path).read_bytes())
        same = text["version"] == VERSION and text["settings"] == settings_of(synthesizer)
        progress = _read(text)
        progress.fitting = float(text.get("fitting", 0.0))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ParameterError(f"{str(path)!r} is not a checkpoint of a synthesizer") from None
    if not same:
        raise ParameterError(f"the checkpoint {str(path)!r} belongs to another domain, budget or schedule")
    if text.get("mark") != mark:
        raise ParameterError(f"the checkpoint {str(path)!r} was paid for by another charge; take another file")
    if not (_complete(progress, synthesizer) and 0 <= progress.fitting < math.inf):
        raise ParameterError(f"the checkpoint {str(path)!r} was edited: it does not hold the rounds that it tells of")
    return progress


def _complete(progress: Progress, synthesizer: Synthesizer) -> bool:
    """Whether each column was measured once, then one table in each round, and no more rounds than are paid for."""
    import numpy as np

    if synthesizer.method == "mwem":  # keeps a model only
        return (progress.rounds, progress.chosen, progress.measurements) == (0, [], [])
    rounds, chosen, coarse = progress.rounds, progress.chosen, synthesizer.encoding.coarse
    if type(rounds) is not int or not 0 <= rounds <= synthesizer.schedule.rounds:
        return False
    measured = [one.columns for one in progress.measurements]
    if len(chosen) != rounds or measured != [*((name,) for name in coarse), *chosen]:
        return False
    weights = synthesizer.weights
    if not all(names in weights for names in chosen):
        return False
    if not all(np.isfinite(np.asarray(one.values)).all() and _fits(one, coarse) for one in progress.measurements):
        return False
    exact = min(one.sd for one in progress.measurements) == 0  # which only a budget whose noise vanishes makes
    return not exact or min(synthesizer.schedule.sd if rounds else 0.0, synthesizer.singles.variances().min()) == 0


def _fits(one: Measurement, coarse: Domain) -> bool:
    """Whether a table has the shape of its columns, in their bins where they have some."""
    import numpy as np

    shape, bins = np.shape(one.values), one.bins or (None,) * len(one.columns)
    if not len(shape) == len(bins) == len(one.columns):
        return False
    for cells, groups, name in zip(shape, bins, one.columns, strict=True):
        size = coarse[name].size
        if cells != size if groups is None else sorted(set(np.asarray(groups).tolist())) != list(range(cells)):
            return False
        if groups is not None and np.shape(groups) != (size,):
            return False
    return True


def mark_of(path: str | Path) -> str | None:
    """Who paid for a checkpoint; None where there is no file, or nobody's name in it."""
    if not Path(path).exists():
        return None
    try:
        text = read_text(Path(path).read_bytes())
        return None if text.get("mark") is None else str(text["mark"])
    except (ValueError, AttributeError):
        raise ParameterError(f"{str(path)!r} is not a checkpoint of a synthesizer") from None


def to_bytes(made: Synthetic) -> bytes:
    """A fitted model: its measurements and its factors, compressed JSON.  The same model is always the same bytes."""
    about, tables = describe(made.model)
    model = about | {"tables": [[list(table.shape), table.ravel().tolist()] for table in tables]}
    data = json.dumps({"version": VERSION, "model": model, **_written(made.progress)}).encode()
    small = zlib.compress(data)
    return small if len(data) <= most(len(small)) else zlib.compress(data, 0)  # what unfolds to too much is not folded


def from_bytes(data: bytes, synthesizer: Synthesizer) -> Synthetic:
    """Read back what `to_bytes` wrote of a model that this synthesizer made; anything else is refused."""
    import numpy as np

    try:
        text = read_text(inflated(data))
        if text["version"] != VERSION:
            raise UnsupportedError(f"a model of version {text['version']!r}; this one reads version {VERSION}")
        tables = [np.array(values, dtype=np.float64).reshape(shape) for shape, values in text["model"]["tables"]]
        progress = _read(text)
        model = rebuild(text["model"], tables)
    except (ValueError, KeyError, TypeError):
        raise ParameterError("this is not a stored model of a synthesizer") from None
    encoding = synthesizer.encoding
    small = synthesizer.method == "mwem"
    if not isinstance(model, DenseModel if small else GraphicalModel) or model.domain != encoding.coarse:
        raise ParameterError("the stored model belongs to another domain")
    if not _complete(progress, synthesizer):
        raise ParameterError("the stored model does not hold the rounds that it tells of")
    guarantee, schedule = synthesizer.privacy(), None if small else synthesizer.schedule
    return Synthetic(encoding=encoding, model=model, guarantee=guarantee, progress=progress, schedule=schedule)


def _written(progress: Progress) -> dict[str, object]:
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
    chosen = [list(names) for names in progress.chosen]
    return {"rounds": progress.rounds, "chosen": chosen, "measurements": measurements}


def _read(text: dict[str, Any]) -> Progress:
    import numpy as np

    made = [
        Measurement(
            tuple(one["columns"]),
            np.array(one["values"]).reshape(one["shape"]),
            sd=one["sd"],
            bins=tuple(None if bins is None else np.array(bins, dtype=np.int64) for bins in one["bins"]),
        )
        for one in text["measurements"]
    ]
    return Progress(made, rounds=text["rounds"], chosen=[tuple(names) for names in text["chosen"]])


def settings_of(synthesizer: Synthesizer) -> dict[str, object]:
    """Everything that the meaning and the price of the measurements depend on."""
    import numpy as np

    steps, tables = _steps(synthesizer)
    zeros = [
        [list(names), np.packbits(np.asarray(marked, dtype=bool)).tobytes().hex()]
        for names, marked in (synthesizer.zeros or {}).items()
    ]
    made = {
        "domain": synthesizer.encoding.domain.to_dict(),
        "edges": {name: edges.tolist() for name, edges in synthesizer.encoding.edges.items()},
        "budget": digest(synthesizer.budget),
        "neighbours": synthesizer.neighbours.__name__,
        "n": synthesizer.n,
        "rows_per_unit": synthesizer.rows_per_unit,
        **steps,
        "method": synthesizer.method,
        "cells": synthesizer.capacity,
        "tables": tables,
        "zeros": zeros,
    }
    return json.loads(json.dumps(made))


def _steps(synthesizer: Synthesizer) -> tuple[dict[str, object], object]:
    """The mechanisms that run, and the tables that they may choose."""
    if synthesizer.method == "mwem":
        mechanism = synthesizer.mwem
        steps: dict[str, object] = {
            "rounds": mechanism.rounds,
            "noise": digest(mechanism.noise),
            "choice": digest(mechanism.choice),
            "count": digest(mechanism.count),
        }
        return steps, mechanism.workload.to_dict()
    plan = synthesizer.schedule
    steps = {
        "rounds": plan.rounds,
        "singles": digest(plan.singles),
        "noise": digest(plan.noise),
        "choice": digest(plan.choice),
    }
    return steps, [[list(names), weight] for names, weight in synthesizer.weights.items()]
