"""A release as one long table that any language reads: a row for each answer, with its interval.

    table    the columns that were counted together
    cell     what was counted: ward = surgery AND readmitted = True
    answer   the noisy count
    low      ) the ends of an interval which holds the true count with probability 1 - `BETA`,
    high     ) over the noise; missing where nothing is proven of the mechanism

Of marginal tables there is also a column for each that was counted, with its value in the cell: missing where the table
is not about it, or the value is.  One that is called like a column above has an underscore behind its name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from discreet.queries.marginals import Marginals
from discreet.queries.predicates import values
from discreet.release.show import MOST, bars_of

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.data.domain import Domain
    from discreet.release.release import Release

BETA = 0.05
LONGEST = 1_000_000  # cells of marginal tables that are written out
OURS = ("table", "cell", "answer", "low", "high")


def long_form(release: Release) -> pa.Table | None:
    """The table, or None where there are too many answers to be written out."""
    import numpy as np
    import pyarrow as pa

    workload, marginal = release.workload, isinstance(release.workload, Marginals)
    if len(release) > (LONGEST if marginal else MOST):
        return None
    bars = bars_of(release, BETA)
    unknown = np.full(len(release), np.nan)
    ends = (unknown, unknown) if bars is None else (release.answers - bars, release.answers + bars)
    numbers = [pa.array(part, pa.float64(), from_pandas=True) for part in (release.answers, *ends)]
    if isinstance(workload, Marginals):
        named = _cells(workload)
    else:
        texts = [str(query) for query in workload]
        named = pa.table({"table": [", ".join(workload.domain)] * len(texts), "cell": texts})
    for place, (name, part) in enumerate(zip(OURS[2:], numbers, strict=True), 2):
        named = named.add_column(place, name, part)
    return named


def _cells(workload: Marginals) -> pa.Table:
    """What each cell of marginal tables is: in words, and by its values."""
    import pyarrow as pa

    domain = workload.domain
    counted = [name for name in domain if any(name in names for names in workload.sets)]
    shown = dict(zip(counted, _named(counted), strict=True))
    known = {name: _values(domain, name) for name in counted}
    parts = [_part(names, known, shown) for names in workload.sets]
    return pa.concat_tables(parts, promote_options="default")


def _part(names: Sequence[str], known: dict[str, pa.Array], shown: dict[str, str]) -> pa.Table:
    """One marginal table, its cells in C order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    sizes = [len(known[name]) for name in names]
    cells = math.prod(sizes)
    taken = [pa.array(places) for places in _places(sizes)]
    texts = [_texts(name, known[name]).take(places) for name, places in zip(names, taken, strict=True)]
    joined = pc.binary_join_element_wise  # type: ignore[attr-defined]  # made when the module is loaded
    said = joined(*texts, " AND ") if texts else pa.array(["all rows"])
    made = {"table": pa.array([", ".join(names)]).take(pa.array([0] * cells)), "cell": said}
    by_value = {name: known[name].take(places) for name, places in zip(names, taken, strict=True)}
    types = {shown[name]: by_value.get(name, pa.nulls(cells, array.type)) for name, array in known.items()}
    return pa.table(made | types)


def _places(sizes: Sequence[int]) -> Iterator[object]:
    """For each column, which of its values every cell has."""
    import numpy as np

    index, inner = np.arange(math.prod(sizes)), math.prod(sizes)
    for size in sizes:
        inner //= size
        yield index // inner % size


def _values(domain: Domain, name: str) -> pa.Array:
    """The values of a column; as text where Arrow has no type for all of them."""
    import pyarrow as pa

    found = values(domain[name])
    try:
        return pa.array(found)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([None if value is None else str(value) for value in found], pa.string())


def _texts(name: str, array: pa.Array) -> pa.Array:
    import pyarrow as pa

    return pa.array([f"{name} IS NULL" if value is None else f"{name} = {value}" for value in array.to_pylist()])


def _named(counted: Sequence[str]) -> list[str]:
    """Names that are not ours and of which there is one each.

    >>> _named(["ward", "low", "low_"])
    ['ward', 'low__', 'low_']
    """
    made: list[str] = []
    for name in counted:
        other = name
        while other in OURS or other in made or (other != name and other in counted):
            other += "_"
        made.append(other)
    return made
