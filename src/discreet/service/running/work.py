"""What a child does for each kind of order: one call of the curator, and its outcome in the words of the API.

Everything that is handed back was stored in the ledger first; files hold what is too large for a reply.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from discreet._version import __version__
from discreet.errors import DomainError, ParameterError, UnsupportedError, require
from discreet.service.running.announced import written

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.data.domain import Domain
    from discreet.learning.estimator import PrivateEstimator
    from discreet.ledger import Receipt
    from discreet.queries.workload import Workload
    from discreet.service.running.frames import Message

MOST_ROWS = 1_000_000  # drawn from a model in one file
BINS = 100_000  # intervals of one column of synthetic data: more would fill the memory of a process that only plans
SHOWN = 50  # rows of a release in its document; its files have all of them
FORMATS = ("csv", "parquet", "arrow")
OURS = {"budget", "checkpoint", "device", "domain", "module", "progress", "public_rows"}  # no paths, no code


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """Where a child works: its curator, who asks, a folder for files, and whom to tell of progress."""

    curator: Curator
    principal: str
    folder: Path | None
    tell: Callable[[Message], None]

    def file(self, name: str) -> Path:
        """The path of a file in the folder of a job."""
        if self.folder is None:
            raise UnsupportedError("only a job has files")
        return self.folder / name


Made = tuple[dict[str, object], dict[str, str]]  # the document, and files by name


def ask(desk: Desk, body: Mapping[str, Any]) -> Made:
    """Answer one question."""
    given = {name: body[name] for name in ("beta", "fresh", "whole_counts") if name in body}
    given |= {name: body[name] for name in ("rows_per_unit", "groups_per_unit") if body.get(name) is not None}
    answer = desk.curator.ask(text_of(body, "question"), analyst=desk.principal, **given, **price_of(body))
    shown = answer.to_dict()
    table = answer.errors()
    document = {
        "rows": plain(shown["rows"]),
        "columns": table.column_names,
        "beta": answer.beta,
        "cost": shown["cost"],
        **_paid(answer.receipt),
        "statement": shown["statement"],
        "released": json.loads(answer.to_bytes()),
        "version": __version__,
    }
    return document, {}


def release(desk: Desk, body: Mapping[str, Any]) -> Made:
    """Release a workload: as it is stored, as tables for any language, and its first rows in the document."""
    from discreet.service.running.long_form import BETA, OURS, long_form

    table = text_of(body, "table")
    workload = workload_of(desk.curator, table, body.get("workload"))
    mechanism = text_of(body, "mechanism", otherwise="auto")
    asked = {"fresh": bool(body.get("fresh", False)), **price_of(body)}
    made = desk.curator.release(workload, table=table, mechanism=mechanism, analyst=desk.principal, **asked)
    place = desk.file("marginals.release")
    made.save(place)
    places, rows = [place], long_form(made)
    if rows is not None:
        for kind in ("parquet", "csv"):
            places.append(desk.file(f"release.{kind}"))
            write_table(rows, places[-1], kind)
    document = {
        "answers": len(made),
        "rows": [] if rows is None else plain(rows.select(OURS).slice(0, SHOWN).to_pylist()),
        "beta": BETA,
        "cost": str(made.privacy()),
        **_paid(cast("Receipt", made.receipt)),
        "version": __version__,
    }
    return document, {one.name: str(one) for one in places}


def synthesis(desk: Desk, body: Mapping[str, Any]) -> Made:
    """Fit a model to draw rows from; a run that was stopped goes on from its checkpoint."""
    from discreet.synthesis.stored import to_bytes

    asked = synthesis_of(body)
    run: dict[str, Any] = {} if asked["method"] == "mwem" else {"checkpoint": desk.file("checkpoint")}
    run |= {"progress": lambda done, total: desk.tell(_progress(done, total))}
    who = {"analyst": desk.principal, "fresh": bool(body.get("fresh", False)), "rows": body.get("rows")}
    made = desk.curator.synthesize(**asked, **run, **who)
    model, report = desk.file("synthetic.model"), desk.file("report.html")
    model.write_bytes(to_bytes(made))
    made.report(report)
    document = {
        "rows": made.wanted or made.rows,
        "columns": list(made.encoding.domain),
        "cost": str(made.privacy()),
        **_paid(made.receipt),
        "version": __version__,
    }
    return document, {model.name: str(model), report.name: str(report)}


def estimator_of(body: Mapping[str, Any]) -> PrivateEstimator:
    """The estimator that an order names, with its parameters, not fitted."""
    from discreet.learning.stored import named

    name, parameters = text_of(body, "model"), body.get("parameters") or {}
    require(isinstance(parameters, dict), "parameters of the model by name", parameters=type(parameters).__name__)
    for ours in sorted(OURS & set(parameters)):
        raise ParameterError(f"need parameters of the model alone; {ours} is for the service to set")
    try:
        return named(name)(**parameters)
    except TypeError:
        raise ParameterError(f"need parameters of {name}, got {', '.join(map(str, parameters))}") from None


def fit(desk: Desk, body: Mapping[str, Any]) -> Made:
    """Fit a model of `discreet.learning`, by its name."""
    from discreet.learning.stored import save

    model = estimator_of(body)
    asked = {"target": body.get("target"), "columns": body.get("columns"), "fresh": bool(body.get("fresh", False))}
    made = desk.curator.fit(model, table=text_of(body, "table"), analyst=desk.principal, **asked, **price_of(body))
    place = desk.file("fitted.model")
    save(made, place)
    receipt: Receipt = made.receipt  # type: ignore[attr-defined]
    document = {"model": type(model).__name__, "cost": str(made.privacy()), **_paid(receipt), "version": __version__}
    return document, {place.name: str(place)}


def audit(desk: Desk, body: Mapping[str, Any]) -> Made:
    """Audit the mechanisms of the library themselves, all or some; no table is read, and nothing is spent."""
    from discreet.curator.audits.register import SUBJECTS
    from discreet.curator.audits.run import audit_all

    only, done = names_of(body.get("only")), 0
    subjects = [one for one in SUBJECTS if one.here and (only is None or one.known_as in only or one.name in only)]
    if not subjects:
        raise ParameterError("need names of audits that there are, in only")

    def tell(_: object) -> None:
        nonlocal done
        done += 1
        desk.tell({"event": "progress", "done": done, "total": len(subjects), "label": "auditing"})

    found = audit_all(subjects, scale=0.1 if body.get("quick") else 1.0, workers=1, done=tell)
    return {"findings": [one.row() for one in found], "version": __version__}, {}


def draw(desk: Desk, body: Mapping[str, Any]) -> Made:
    """Rows from a model that a job has made, as a file; the model is public, and nothing is spent.

    Where nobody says how many, they are as many as the order wanted or the noisy total, and at most `MOST_ROWS`.
    """
    from discreet.hazmat.entropy import SeededRandom

    rows, seed, kind = body.get("rows"), body.get("seed"), body.get("format", "csv")
    require(kind in FORMATS, f"a format among {', '.join(FORMATS)}", format=kind)
    right = rows is None or (type(rows) is int and 1 <= rows <= MOST_ROWS)
    require(right, f"1 <= rows <= {MOST_ROWS:,}", rows=rows)
    require(seed is None or (type(seed) is int and seed >= 0), "an integer seed >= 0", seed=seed)
    made = model_of(desk.curator, body["order"], desk.file("synthetic.model").read_bytes())
    wanted = min(rows or body["order"].get("rows") or made.rows, MOST_ROWS)
    table = made.sample(wanted, rng=None if seed is None else SeededRandom(seed))
    place = desk.file(str(body["name"]))
    write_table(table, place, str(kind))
    return {"rows": table.num_rows}, {place.name: str(place)}


KINDS: dict[str, Callable[[Desk, Mapping[str, Any]], Made]] = {
    "ask": ask,
    "release": release,
    "synthesis": synthesis,
    "fit": fit,
    "audit": audit,
    "draw": draw,
}


def synthesis_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a synthesizer is made from, of the order for one."""
    from discreet.curator.synthesis_run import SETTINGS

    settings = body.get("settings") or {}
    require(isinstance(settings, dict), "settings by name", settings=type(settings).__name__)
    for name in settings:  # a table named here would not be the one that was authorised
        require(name in SETTINGS, f"settings among {', '.join(SETTINGS)}", setting=str(name)[:40])
    bins = settings.get("bins")
    for cut in (settings.get("most"), *(bins.values() if isinstance(bins, dict) else ())):
        require(not isinstance(cut, int) or cut <= BINS, f"at most {BINS:,} intervals of a column", intervals=cut)
    method = text_of(body, "method", otherwise="adaptive")
    return {"table": text_of(body, "table"), "columns": body.get("columns"), "method": method, **settings} | price_of(
        body
    )


def model_of(curator: Curator, body: Mapping[str, Any], stored: bytes) -> Any:  # noqa: ANN401 - a Synthetic
    """A model again, from the order for it and what the ledger keeps of it."""
    from discreet.curator.synthesis_run import ordered
    from discreet.synthesis.stored import from_bytes

    asked = synthesis_of(body)
    named = ("table", "columns", "method", "epsilon", "budget")
    settings = {name: value for name, value in asked.items() if name not in named}
    known = {name: asked[name] for name in named if name in asked}
    return from_bytes(stored, ordered(curator, settings=settings, **known).synthesizer)


def write_table(table: Any, place: Path, kind: str) -> None:  # noqa: ANN401 - an Arrow table
    """A table as CSV, Parquet or an Arrow stream."""
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    if kind == "csv":
        pyarrow.csv.write_csv(table, str(place))
    elif kind == "parquet":
        pyarrow.parquet.write_table(table, str(place))
    else:
        with pyarrow.OSFile(str(place), "wb") as file, pyarrow.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)


def workload_of(curator: Curator, table: str, given: object) -> Workload:
    """A workload from its name: marginals, thresholds of a column, or counts of the cells of some columns."""
    from discreet.queries.ordered import thresholds

    match given:
        case {"marginals": int(ways), **rest} if type(ways) is int and set(rest) <= {"columns"}:
            return curator.marginals(table, ways, columns=names_of(rest.get("columns")))
        case {"thresholds": str(column), **rest} if not rest:
            return thresholds(_declared(curator, table, [column]))
        case {"counts": list(columns), **rest} if not rest:
            return curator.marginals(table, len(columns), columns=names_of(columns))
        case _:
            raise ParameterError(
                'need a workload {"marginals": k, "columns": [...]}, {"thresholds": column} or {"counts": [columns]}'
            )


def _declared(curator: Curator, table: str, columns: list[str]) -> Domain:
    from discreet.data.domain import missing
    from discreet.release.reading import columns_of

    if table not in curator.tables:
        raise DomainError(missing(table, list(curator.tables), what="table"))
    return columns_of(curator.tables[table], columns)


def names_of(given: object) -> list[str] | None:
    """Names of columns, or none for all of them."""
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise ParameterError("need columns as a list of names")
    return cast("list[str]", given)


def text_of(body: Mapping[str, Any], name: str, *, otherwise: str | None = None) -> str:
    """A word of an order."""
    found = body.get(name, otherwise)
    if not isinstance(found, str):
        raise ParameterError(f"need {name} as text, got {type(found).__name__}")
    return found


def price_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """The price of an order: epsilon, or a budget; numbers mean the decimals they print."""
    if (body.get("epsilon") is None) == (body.get("budget") is None):
        raise ParameterError("need either epsilon or budget")
    if body.get("epsilon") is not None:
        return {"epsilon": body["epsilon"]}
    from discreet.service.wire import read_budget

    return {"budget": read_budget(body["budget"])}


def plain(value: object) -> object:
    """JSON-ready: dates as text, numbers that JSON does not know as null."""
    match value:
        case dict():
            return {str(name): plain(one) for name, one in value.items()}
        case list() | tuple():
            return [plain(one) for one in value]
        case float():
            return value if math.isfinite(value) else None
        case None | bool() | int() | str():
            return value
        case _:
            iso = getattr(value, "isoformat", None)
            return iso() if callable(iso) else str(value)


def _progress(done: int, total: int) -> Message:
    """Rounds that are done, of those that were planned before a row was read."""
    return {"event": "progress", "done": done, "total": total, "label": "measuring"}


def _paid(receipt: Receipt) -> dict[str, object]:
    cost = receipt.price
    amounts = {"epsilon": cost.epsilon, "rho": cost.rho, "delta": cost.delta}
    return {
        "price": {name: None if amount is None else float(amount) for name, amount in amounts.items()},
        "receipt": written(receipt),
    }
