"""A release in one file: numbers in Parquet, everything else in JSON, in a ZIP archive; no code is ever stored.

    release.json      workload, guarantee, the form of the errors, the kind of model
    answers.parquet   one row per query: the answer, and where they exist its sub-Gaussian parameter and the
                      unbiased answer it was moved from
    model.parquet     one row per table of the model: its numbers

Numbers of promises are exact, as text.  The same release is always the same bytes.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.data.stored_bytes import Archive, columns
from discreet.errors import DiscreetError, DomainError, ParameterError, UnsupportedError
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import RELATIONS
from discreet.privacy.number import exact, tidy
from discreet.queries.stored import from_dict
from discreet.release import stored_errors
from discreet.release.models.stored import describe, rebuild

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.release.release import Release

FORM = 1  # of the file
_PROMISES = {kind.__name__: kind for kind in (PureDP, ApproxDP, ZCDP)}
_MEMBERS = ("release.json", "answers.parquet", "model.parquet")
_EPOCH = (1980, 1, 1, 0, 0, 0)


def to_bytes(release: Release) -> bytes:
    """The whole file."""
    errors, more = stored_errors.write(release.errors)
    lists = {"answer": release.answers} | more
    about: dict[str, Any] = {
        "form": FORM,
        "workload": release.workload.to_dict(),
        "guarantee": guarantee_to_dict(release.guarantee),
        "errors": errors,
    }
    parts = {"answers.parquet": _parquet({name: list_of(values) for name, values in lists.items()})}
    if release.model is not None:
        about["model"], tables = describe(release.model)
        parts["model.parquet"] = _parquet({"numbers": [list_of(table) for table in tables]})
    parts["release.json"] = json.dumps(about, indent=1).encode()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in sorted(parts.items()):
            archive.writestr(zipfile.ZipInfo(name, date_time=_EPOCH), data)
    return made.getvalue()


def from_bytes(data: bytes) -> Release:
    """Read back what `to_bytes` wrote; anything else is refused."""
    try:
        archive = Archive(data, known=_MEMBERS.__contains__)
        about = archive.json("release.json")
        answers = columns(archive.read("answers.parquet"))
        tables = columns(archive.read("model.parquet")) if about.get("model") else {}
    except (KeyError, ValueError, AttributeError) as error:
        raise ParameterError(f"this is not a stored release: {type(error).__name__}") from None
    if about.get("form") != FORM:
        raise UnsupportedError(f"a release of form {about.get('form')!r}; this version reads form {FORM}")
    try:
        return _built(about, answers, tables)
    except DiscreetError:
        raise
    except (KeyError, ValueError, TypeError, AttributeError, IndexError, ArithmeticError) as error:
        raise ParameterError(f"this is not a stored release: {type(error).__name__}") from None


def _built(about: dict[str, Any], answers: dict[str, Any], tables: dict[str, Any]) -> Release:
    import numpy as np

    from discreet.release.release import Release

    workload = from_dict(about["workload"])
    found = np.asarray(answers["answer"], dtype=np.float64)
    if len(found) != len(workload):
        raise DomainError(f"the file has {len(found)} answers to {len(workload)} queries")
    model = None
    if about.get("model"):
        model = rebuild(about["model"], [np.asarray(row, dtype=np.float64) for row in tables["numbers"]])
    return Release(
        workload=workload,
        answers=found,
        guarantee=guarantee_from_dict(about["guarantee"]),
        errors=stored_errors.read(about["errors"], {n: np.asarray(c, dtype=np.float64) for n, c in answers.items()}),
        model=model,
    )


def save(release: Release, path: str | Path) -> Path:
    """Write the file and return where it is."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(to_bytes(release))
    return file


def load(path: str | Path) -> Release:
    """Read the file."""
    return from_bytes(Path(path).read_bytes())


def guarantee_to_dict(promise: Guarantee) -> dict[str, str | None]:
    """A promise as text, exactly.

    >>> guarantee_to_dict(ZCDP(0.1))
    {'kind': 'ZCDP', 'rho': '1/10', 'neighbours': None}
    """
    kind = type(promise).__name__
    if kind not in _PROMISES:
        raise UnsupportedError(f"a promise of kind {kind} is not stored")
    numbers = {f.name: str(exact(getattr(promise, f.name))) for f in fields(promise) if f.name != "neighbours"}  # type: ignore[arg-type]
    return {"kind": kind, **numbers, "neighbours": promise.neighbours.__name__ if promise.neighbours else None}


def guarantee_from_dict(stored: dict[str, Any]) -> Guarantee:
    """Read back what `guarantee_to_dict` wrote.

    >>> guarantee_from_dict(guarantee_to_dict(ApproxDP(1, 1e-6)))
    ApproxDP(epsilon=1.0, delta=1e-06)
    """
    rest = dict(stored)
    kind, relation = _PROMISES.get(str(rest.pop("kind", None))), rest.pop("neighbours", None)
    if kind is None or (relation is not None and relation not in RELATIONS):
        raise ParameterError(f"need a promise among {', '.join(_PROMISES)} with a known relation")
    numbers = {name: tidy(exact(value)) for name, value in rest.items()}
    return kind(**numbers, neighbours=None if relation is None else RELATIONS[relation])


def list_of(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Flat doubles on this machine."""
    import numpy as np

    return np.ascontiguousarray(values, dtype=np.float64).reshape(-1)


def _parquet(lists: dict[str, Any]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = io.BytesIO()
    pq.write_table(pa.table(lists), made)
    return made.getvalue()
