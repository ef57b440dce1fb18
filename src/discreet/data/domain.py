"""The domain of a table: its columns and what is publicly known of them, never read off rows."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence

from discreet.data.columns import Column, Identifier, column
from discreet.errors import DomainError, ParameterError, require


class Domain(Mapping[str, Column]):
    """Columns by name, in order.

    >>> from discreet.data.columns import Boolean, Integer
    >>> domain = Domain({"age": Integer(0, 119), "icu": Boolean()})
    >>> domain.size, list(domain.project(["icu"]))
    (240, ['icu'])
    """

    __slots__ = ("_columns",)

    def __init__(self, columns: Mapping[str, Column]) -> None:
        require(bool(columns), "at least one column", columns=list(columns))
        for name, declared in columns.items():
            if not isinstance(name, str) or not name or not isinstance(declared, Column):
                raise ParameterError(f"need names with column types such as Integer(0, 9), got {name!r}: {declared!r}")
        lowered = [name.lower() for name in columns]
        require(len(set(lowered)) == len(lowered), "column names that differ in more than case", columns=list(columns))
        self._columns = dict(columns)

    def __getitem__(self, name: str) -> Column:
        try:
            return self._columns[name]
        except KeyError:
            raise DomainError(missing(name, list(self._columns), what="column")) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __hash__(self) -> int:
        return hash(frozenset(self._columns.items()))  # equal whatever the order, as mappings are

    def __repr__(self) -> str:
        return f"Domain({self._columns!r})"

    @property
    def size(self) -> int:
        """How many different rows there can be: the product of the sizes of the columns, identifiers left out."""
        return math.prod(declared.size for declared in self._columns.values() if not isinstance(declared, Identifier))

    def project(self, names: Sequence[str]) -> Domain:
        """The domain of some of the columns, in the order given."""
        return Domain({name: self[name] for name in names})

    def without(self, *names: str) -> Domain:
        """The domain of the other columns."""
        return Domain({name: declared for name, declared in self.items() if name not in names})

    def to_dict(self) -> dict[str, dict[str, object]]:
        """A TOML-ready declaration."""
        return {name: declared.to_dict() for name, declared in self._columns.items()}

    @classmethod
    def from_dict(cls, declaration: Mapping[str, dict[str, object]]) -> Domain:
        """Read back what `to_dict` wrote."""
        return cls({name: column(dict(entry)) for name, entry in declaration.items()})


def missing(name: str, known: Sequence[str], *, what: str) -> str:
    """A message for a name that is not there, with the nearest one that is.

    >>> missing("agee", ["age", "ward"], what="column")
    "no column 'agee'; did you mean 'age'?"
    """
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(map(repr, known))}"
    return f"no {what} {name!r}{hint}"
