"""What a release mechanism may be called on: a histogram, rows, tables of counts, or a frame that is encoded first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.data.domain import Domain
from discreet.data.engines.tables_of_counts import TablesOfCounts
from discreet.data.histogram import Histogram
from discreet.data.records import Records
from discreet.errors import UnsupportedError
from discreet.privacy.neighbours import AddRemove, Neighbours
from discreet.queries.workload import same_domain, swaps

if TYPE_CHECKING:
    from discreet.queries.workload import Countable


def counted(data: object, domain: Domain, *, neighbours: type[Neighbours] = AddRemove) -> Countable:
    """The data as something that can be counted; frames are read by the declaration, another domain is refused.

    Where a row may be replaced the number of rows is public, and no row of a frame is dropped: one that is not valid
    would be a removal, which the sensitivities under Replace do not cover.

    >>> import pandas as pd
    >>> from discreet.data.columns import Boolean
    >>> counted(pd.DataFrame({"icu": [True, False]}), Domain({"icu": Boolean()}))
    Records(columns=1)
    """
    if not isinstance(data, Histogram | Records | TablesOfCounts):
        return Records.from_frame(data, domain, every_row=swaps(neighbours))
    same_domain(domain, data.domain)
    return one_dataset(data, neighbours)


def one_dataset(data: Countable, neighbours: type[Neighbours]) -> Countable:
    """Refuse tables of several passes where a unit is replaced: each pass may keep another row of it.

    The sensitivity of a replaced row is about one pair of rows in all residuals (Theorem 7); that of an added
    row is the sum of those of the residuals, whichever row each of them sees.  Nothing was counted yet.
    """
    if swaps(neighbours) and isinstance(data, TablesOfCounts) and not data.same_rows:
        raise UnsupportedError(
            f"where a unit is replaced its tables must count one row of it, and {data.passes} passes of the engine may"
            " keep as many; leave out n= (units are added or removed), ask for smaller tables, or declare unit=None"
            " where a row is a unit"
        )
    return data
