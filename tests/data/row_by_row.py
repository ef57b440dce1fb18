"""Questions evaluated row by row over Python values, by SQL's rules and nothing of the engine's: the oracle.

A row is (unit, values by column).  Numbers are Fractions, truth is a bool, a missing value is None.  Every value is
held against the public type of what it was computed by: bounds, step and whether it may be missing.
"""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction

from discreet.data.columns import EPOCH, Boolean, Categorical, Date, Identifier, Integer, Real, Text, Timestamp
from discreet.queries.calendar import Part as Calendar
from discreet.queries.choice import Case, Extreme
from discreet.queries.compile import Part
from discreet.queries.division import Quotient, Remainder
from discreet.queries.expression import Absolute, Add, Day, Floor, Multiply, Number, Ref, Word
from discreet.queries.joined import Joined
from discreet.queries.per_unit import Grouped
from discreet.queries.phrase import Phrase, Prefix
from discreet.queries.predicate import And, Compare, IsNull, Member, Not, Or
from discreet.queries.source import Named, Selected
from discreet.queries.stacked import Stacked
from discreet.queries.types import Coded, Free, Numeric, Truth

LARGEST = 1 << 62
TYPES = {}  # of expressions, by identity; each is kept alive beside its type


def type_of(expression):
    """The public type, computed once."""
    if id(expression) not in TYPES:
        TYPES[id(expression)] = expression, expression.type
    return TYPES[id(expression)][1]


def coded(column, value):
    """A stored value as the declaration reads it: clamped, rounded to its step, or missing."""
    match column:
        case _ if value is None or value != value:
            return None
        case Integer(low, high):
            return Fraction(min(max(math.floor(Fraction(value) + Fraction(1, 2)), low), high))
        case Real() if math.isinf(value):
            return Fraction(column.high if value > 0 else column.low)
        case Real():
            low, high = column.codes
            return min(max(math.floor(Fraction(value) / column.step + Fraction(1, 2)), low), high) * column.step
        case Boolean():
            return bool(value)
        case Categorical():
            return value if value in column.values else None
        case Date():
            return min(max(value, column.low), column.high)
        case Timestamp():
            code = (value - EPOCH) // dt.timedelta(seconds=column.period)
            return column.decode(min(max(code, column.codes[0]), column.codes[1]))
        case Text():
            return value if len(value.encode()) <= column.max_bytes else None
        case Identifier():
            return str(value)


def checked(known, value):
    """The value, if its type told the truth."""
    if value is None:
        assert known.nullable, known
        return None
    match known:
        case Numeric(low, high, step):
            number = Fraction(value)
            code = number / step
            assert code.denominator == 1, (known, value)
            assert -LARGEST < low <= code <= high < LARGEST, (known, value)
        case Coded(column):
            assert value in column.values if isinstance(column, Categorical) else column.low <= value <= column.high
        case Truth():
            assert isinstance(value, bool)
        case Free():
            assert isinstance(value, str)
    return value


def value(expression, row):
    """The value of an expression on a row."""
    return checked(type_of(expression), _value(expression, row))


def number(expression, row):
    """The same as a number: truth counts as 0 or 1."""
    found = value(expression, row)
    return None if found is None else Fraction(found)


def _value(expression, row):
    match expression:
        case Ref():
            return row[expression.key]
        case Number(constant):
            return constant
        case Word(word):
            return word
        case Phrase(text):
            return text
        case Day(text, column):
            moment = dt.datetime.fromisoformat(text)
            return moment.date() if isinstance(column, Date) else moment
        case Add(left, right, minus):
            a, b = number(left, row), number(right, row)
            return None if a is None or b is None else a - b if minus else a + b
        case Multiply(left, right):
            a, b = number(left, row), number(right, row)
            return None if a is None or b is None else a * b
        case Floor(inner):
            a = number(inner, row)
            return None if a is None else Fraction(math.floor(a))
        case Quotient(inner, divisor):
            a = number(inner, row)
            return None if a is None else Fraction(math.trunc(a / divisor))
        case Remainder(inner, divisor):
            a = number(inner, row)
            return None if a is None else a - divisor * math.trunc(a / divisor)
        case Absolute(inner):
            a = number(inner, row)
            return None if a is None else abs(a)
        case Extreme(word, items):
            there = [found for item in items if (found := number(item, row)) is not None]
            return None if not there else (min if word == "LEAST" else max)(there)
        case Case(branches, otherwise):
            for condition, then in branches:
                if value(condition, row) is True:
                    return number(then, row)
            return None if otherwise is None else number(otherwise, row)
        case Calendar(part, inner):
            day = value(inner, row)
            return None if day is None else Fraction(_part(part, day))
        case Compare(operator, left, right):
            return _compared(operator, _operand(left, row), _operand(right, row))
        case And(terms) | Or(terms):
            found, decides = [value(term, row) for term in terms], isinstance(expression, Or)
            return decides if decides in found else None if None in found else not decides
        case Not(inner):
            found = value(inner, row)
            return None if found is None else not found
        case IsNull(inner):
            return value(inner, row) is None
        case Member(inner, options):
            found = [_compared("=", _operand(inner, row), _operand(option, row)) for option in options]
            return True if True in found else None if None in found else False
        case Prefix(inner, start):
            found = value(inner, row)
            return None if found is None else found.startswith(start)


def _operand(expression, row):
    """A day constant may lie outside the bounds of the column it is compared with."""
    found = _value(expression, row) if isinstance(expression, Day) else value(expression, row)
    return Fraction(found) if isinstance(found, bool) else found


def _compared(operator, a, b):
    if a is None or b is None:
        return None
    tests = {"=": a == b, "<>": a != b}
    if operator in tests:
        return tests[operator]
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]


def _part(part, day):
    return {
        "year": day.year, "quarter": (day.month + 2) // 3, "month": day.month, "day": day.day,
        "dow": day.isoweekday() % 7, "hour": getattr(day, "hour", 0),
    }[part]  # fmt: skip


def rows_of(source, reads):
    """The rows of a source; `reads` gives the columns that are read of each of its tables, from left to right."""
    made, units = _rows(source, reads), source.units
    types = {name: Ref(name, column).type for name, column in source.columns.items() if name not in units}
    for _, row in made:
        for name, known in types.items():
            checked(known, row[name])
    return made


def _rows(source, reads):
    match source:
        case Named():
            return _scanned(source.declared, next(reads))
        case Selected():
            return [
                (unit, {name: value(made, row) for name, made in source.made if made is not None})
                for unit, row in rows_of(source.source, reads)
                if source.where is None or value(source.where, row) is True
            ]
        case Grouped():
            return _grouped(source, reads)
        case Joined():
            return _joined(source, reads)
        case Stacked(parts):
            places = [[name for name in part.columns if name not in part.units] for part in parts]
            return [
                (unit, {new: row[old] for old, new in zip(names, places[0], strict=True)})
                for part, names in zip(parts, places, strict=True)
                for unit, row in rows_of(part, reads)
            ]


def _scanned(table, read):
    """A row without a unit, or without a value that may not be missing and is read, is not there."""
    found = []
    for stored in table.source.to_pylist():
        row = {name: coded(column, stored[name]) for name, column in table.domain.items() if name != table.unit}
        unit = None if table.unit is None else stored[table.unit]
        lacking = [name for name in row if row[name] is None and not table.domain[name].nullable]
        if (table.unit is None or unit is not None) and not set(lacking) & set(read):
            found.append((unit, row | {name: _any(table.domain[name]) for name in lacking}))
    return found


def _any(column):
    """Something to put where nobody looks."""
    return "" if isinstance(column, (Text, Identifier)) else coded(column, column.decode(column.codes[0]))


def _grouped(source, reads):
    groups = {}
    for unit, row in rows_of(source.source, reads):
        if source.where is None or value(source.where, row) is True:
            keys = tuple(value(key, row) for key in source.keys)
            groups.setdefault((unit, keys), []).append(row)
    made = []
    for (unit, keys), rows in groups.items():
        shown = {}
        for name, what in source.made:
            if isinstance(what, int):
                shown[name] = keys[what]
            elif what is not None:
                shown[name] = _of_unit(what, rows)
        made.append((unit, shown))
    return made


def _of_unit(what, rows):
    """Counts and sums are those of at most `what.rows` rows, by their bounds."""
    if what.argument is None:
        return Fraction(min(len(rows), what.rows))
    if what.function == "count":
        return Fraction(min(sum(value(what.argument, row) is not None for row in rows), what.rows))
    there = [found for row in rows if (found := value(what.argument, row)) is not None]
    if not there:
        return None
    if what.function in ("min", "max"):
        return min(there) if what.function == "min" else max(there)
    known, total = _numeric(what.argument), sum(map(Fraction, there))
    if what.function == "avg":
        return math.floor(total / len(there) / known.step) * known.step
    return min(max(total, what.rows * min(known.low, 0) * known.step), what.rows * max(known.high, 0) * known.step)


def _numeric(expression):
    known = type_of(expression)
    return Numeric(0, 1, Fraction(1), known.nullable) if isinstance(known, Truth) else known


def _joined(source, reads):
    left, right = (
        [(unit, _named(side, name, row)) for unit, row in rows_of(side, reads)]
        for name, side in ((source.names[0], source.left), (source.names[1], source.right))
    )
    units = source.units
    empty = {name: None for name in source.columns if name not in units and not _of_left(source, name)}
    found = []
    for unit, row in left:
        partners = [
            other
            for owner, other in right
            if (source.right.owner is None or owner == unit)
            and all(_compared("=", _operand(a, row), _operand(b, other)) for a, b in source.on)
        ]
        found += [(unit, row | other) for other in partners]
        if source.outer and not partners:
            found.append((unit, row | empty))
    return found


def _named(side, name, row):
    return row if isinstance(side, Joined) else {f"{name}.{column}": found for column, found in row.items()}


def _of_left(source, name):
    return name in source.left.columns if isinstance(source.left, Joined) else name.startswith(f"{source.names[0]}.")


def cells(query, groupings, part, reads):
    """What a part adds up to, by group, without any bound on what a unit adds."""
    found = {}
    for unit, row in rows_of(query.source, iter(reads)):
        if query.where is not None and value(query.where, row) is not True:
            continue
        place = tuple(_index(grouping.expression, value(grouping.expression, row)) for grouping in groupings)
        found.setdefault(place, []).append((unit, row))
    return {place: total for place, rows in found.items() if (total := _added(part, rows))}


def _index(expression, found):
    """The place of a value among the declared keys; missing comes last."""
    known = type_of(expression)
    match known:
        case Numeric(low, high, step):
            return high - low + 1 if found is None else int(found / step) - low
        case Truth():
            return 2 if found is None else int(found)
        case Coded(Categorical() as column):
            return len(column.values) if found is None else column.values.index(found)
        case Coded(column):
            return column.size - 1 if found is None else (found - column.low) // _period(column)


def _period(column):
    return dt.timedelta(days=1) if isinstance(column, Date) else dt.timedelta(seconds=column.period)


def _added(part, rows):
    match part:
        case Part("units"):
            return len({unit for unit, _ in rows})
        case Part("rows", None):
            return len(rows)
        case Part("rows", argument):
            return sum(value(argument, row) is not None for _, row in rows)
        case Part("sum", argument, centre, power):
            step = _numeric(argument).step
            there = [found for _, row in rows if (found := number(argument, row)) is not None]
            return int(sum((found / step - centre) ** power for found in there))


def grid(query, groupings, rank, reads):
    """How many rows lie in each cell of the grid of a quantile, by group."""
    found, known = {}, _numeric(rank.argument)
    size, width = rank.grid(math.prod(grouping.size for grouping in groupings))
    for _, row in rows_of(query.source, iter(reads)):
        if query.where is not None and value(query.where, row) is not True:
            continue
        here = number(rank.argument, row)
        if here is not None:
            place = tuple(_index(grouping.expression, value(grouping.expression, row)) for grouping in groupings)
            cell = (int(here / known.step) - known.low) // width
            assert 0 <= cell < size
            found[(*place, cell)] = found.get((*place, cell), 0) + 1
    return found
