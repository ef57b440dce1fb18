"""discreet.queries workloads: every constructor against its matrix, written out from the definition."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet.data import Boolean, Categorical, Domain, Histogram, Identifier, Integer, Records
from discreet.errors import DiscreetError, DomainError, ParameterError, UnsupportedError
from discreet.privacy.neighbours import AddRemove, EdgeNeighbours, NullRow, Replace
from discreet.queries import (
    Box,
    Conjunction,
    Dense,
    Junta,
    Stacked,
    Workload,
    conjunctions,
    counts,
    from_dict,
    from_predicates,
    kron,
    marginals,
    monotone_conjunctions,
    monotone_disjunctions,
    parities,
    random_counting,
    ranges,
    thresholds,
)
from discreet.queries.places import place_of, places_of
from discreet.queries.workload import Rows
from tests.arrays import torch

MIXED = Domain({"age": Integer(0, 2), "icu": Boolean(), "ward": Categorical(["a", "b"], nullable=True)})
BITS = Domain({f"b{i}": Boolean() for i in range(4)})
WORKLOADS: dict[str, Workload] = {
    "counts": counts(MIXED),
    "thresholds": thresholds(7),
    "thresholds of one value": thresholds(1),
    "ranges": ranges(6),
    "ranges of one value": ranges(1),
    "ranges of two values": ranges(2),
    "one-way marginals": marginals(MIXED, 1),
    "two-way marginals": marginals(MIXED, 2),
    "some marginals": marginals(MIXED, [("ward", "age"), (), ("icu",)], weights=[2, 1, "1/2"]),
    "parities": parities(4, 2),
    "parities up to three": parities(BITS, 3, at_most=True),
    "the whole parity": parities(3, 3),
    "no bits": parities(3, 0),
    "conjunctions": conjunctions(4, 2),
    "all conjunctions": conjunctions(3),
    "monotone conjunctions": monotone_conjunctions(4, 2),
    "monotone conjunctions up to three": monotone_conjunctions(4, 3, at_most=True),
    "monotone disjunctions": monotone_disjunctions(4, 2),
    "monotone disjunctions up to three": monotone_disjunctions(4, 3, at_most=True),
    "random": random_counting(MIXED, 9, seed=4),
    "random over bits": random_counting(Domain({f"b{i}": Boolean() for i in range(7)}), 5, seed=1),
    "dense": Dense([[1, -2, 0], [0, 3, 1]], Domain({"x": Integer(0, 2)})),
    "dense fractions": Dense([[0.5, -0.25, 0], [0, 1, 1]], Domain({"x": Integer(0, 2)})),
    "predicates": from_predicates(MIXED, [lambda row: row["icu"], lambda row: row["ward"] is None]),
    "predicates on one column": from_predicates(MIXED, [lambda row: row["age"] > 0], columns=["age"]),
    "a box": Box(MIXED, ("age", "ward"), (1, 0), (2, 1), Fraction(3)),
    "a box of everything": Box(MIXED, ("icu",), (0,), (1,)),
    "a junta": Junta(MIXED, ("age", "ward"), np.arange(9) - 4),
    "stacked": thresholds(5) + ranges(5),
    "stacked with signs": parities(3, 1) + 2 * monotone_conjunctions(3, 2),
    "weighted": Fraction(3, 4) * thresholds(5),
    "negative": -2 * ranges(4),
    "a slice": marginals(MIXED, 2)[3:6],
    "a long slice": ranges(6)[2:15],
    "a slice of random": random_counting(MIXED, 9, seed=4)[2:5],
    "kron of thresholds": kron(thresholds(Domain({"x": Integer(0, 3)})), thresholds(Domain({"y": Integer(0, 2)}))),
    "kron of counts": kron(counts(Domain({"x": Boolean()})), ranges(Domain({"y": Integer(0, 3)}))),
    "kron of parities": kron(parities(2, 1), thresholds(Domain({"y": Integer(0, 2)}))),
    "kron of three": kron(counts(Domain({"a": Boolean()})), thresholds(3), marginals(Domain({"b": Boolean()}), 0)),
}
each = pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)


def written(workload: Workload) -> list[list[Fraction]]:
    """The matrix from `apply` on unit vectors alone, in exact numbers."""
    unit = np.eye(workload.domain.size)
    columns = [workload.apply(cells) for cells in unit]
    return [[Fraction(float(column[row])) for column in columns] for row in range(len(workload))]


def brute(rows: list[list[Fraction]], power: int, *, replace: bool) -> Fraction:
    """The definition: the largest norm of a column, or of the difference of two."""
    columns = list(zip(*rows, strict=True))
    if not replace:
        return max(sum((abs(v) ** power for v in column), Fraction(0)) for column in columns)
    pairs = itertools.product(columns, repeat=2)
    return max(sum((abs(a - b) ** power for a, b in zip(x, y, strict=True)), Fraction(0)) for x, y in pairs)


@each
def test_sensitivities_are_those_of_the_written_matrix(workload):
    rows = written(workload)
    for power, stated in ((1, workload.absolute), (2, workload.squared)):
        assert stated(AddRemove) == stated(NullRow) == brute(rows, power, replace=False)
        assert stated(Replace) == brute(rows, power, replace=True)


def test_the_check_of_sensitivities_can_fail():
    """Its twins: replace sold as add-remove, and a sensitivity halved."""
    rows = written(counts(MIXED))
    signs = written(parities(4, 2))

    assert counts(MIXED).absolute(AddRemove) != brute(rows, 1, replace=True)
    assert parities(4, 2).squared(AddRemove) != brute(signs, 2, replace=True)
    assert parities(4, 2).squared(Replace) / 2 != brute(signs, 2, replace=True)


@each
def test_transpose_is_the_adjoint_of_apply(workload):
    rows = np.array(written(workload), dtype=float)
    answers = np.random.default_rng(1).integers(-5, 6, size=len(workload))

    assert np.array_equal(workload.transpose(answers), answers @ rows)
    assert np.array_equal(workload.transpose(answers * 1.0), answers @ rows)
    assert np.array_equal(workload.matrix(), rows)


@each
def test_integers_stay_integers(workload):
    cells = np.random.default_rng(2).integers(0, 50, size=workload.domain.size)
    rows = np.array(written(workload), dtype=float)
    answers = workload.apply(cells)

    assert np.array_equal(answers, rows @ cells)
    assert not workload.integral or answers.dtype.kind == "i"
    assert workload.integral == bool((rows == rows.round()).all())


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.bool_], ids=lambda kind: kind.__name__)
def test_short_integers_do_not_overflow(kind):
    cells = (np.full(16, 200) % (2 if kind is np.bool_ else 256)).astype(kind)
    cells[:3] = 1
    line = Domain({"x": Integer(0, 15)})
    bits = (marginals(BITS, 1), parities(4, 2), monotone_disjunctions(4, 2), conjunctions(4))
    grid = kron(thresholds(Domain({"x": Integer(0, 3)})), ranges(Domain({"y": Integer(0, 3)})))
    for workload in (
        *bits,
        thresholds(16),
        ranges(16),
        grid,
        Dense(-np.eye(16), line),
        random_counting(line, 3, seed=1),
    ):
        assert np.array_equal(workload.apply(cells), workload.apply(cells.astype(np.int64)))
        assert np.array_equal(workload[2].apply(cells), workload.apply(cells)[2:3])


@each
def test_torch_arrays_give_the_same_numbers(workload):
    rng = np.random.default_rng(3)
    cells, answers = rng.integers(0, 9, size=workload.domain.size), rng.integers(0, 9, size=len(workload))
    for kind in (torch.int64, torch.float32, torch.float64):
        if not (workload.integral or kind.is_floating_point):
            continue
        applied = workload.apply(torch.tensor(cells, dtype=kind))
        spread = workload.transpose(torch.tensor(answers, dtype=kind))

        assert applied.dtype == spread.dtype == kind
        assert np.array_equal(applied.numpy(), workload.apply(cells))
        assert np.array_equal(spread.numpy(), workload.transpose(answers))


@each
def test_single_queries_are_rows_of_the_matrix(workload):
    rows = np.array(written(workload), dtype=float)
    cells = np.random.default_rng(4).integers(0, 9, size=workload.domain.size)
    for index in range(len(workload)):
        query = workload[index]

        assert len(query) == 1
        assert np.array_equal(query.matrix()[0], rows[index])
        assert query.apply(cells)[0] == rows[index] @ cells
        assert query.absolute(Replace) == brute([[Fraction(v) for v in rows[index]]], 1, replace=True)
    assert np.array_equal(workload[-1].matrix()[0], rows[-1])


@each
@pytest.mark.parametrize("made", [np.array, torch.tensor])
def test_tilting_multiplies_by_the_exponential_of_the_query(workload, made: Callable[..., object]):
    rows = np.array(written(workload), dtype=float)
    for index in {0, len(workload) // 2, len(workload) - 1}:
        cells = made(np.arange(1.0, workload.domain.size + 1))
        workload[index].tilt(cells, 0.25)

        assert np.allclose(np.asarray(cells), np.arange(1, workload.domain.size + 1) * np.exp(0.25 * rows[index]))


@each
def test_a_stored_workload_is_read_back(workload):
    back = from_dict(json.loads(json.dumps(workload.to_dict())))

    assert np.array_equal(back.matrix(), workload.matrix())
    assert list(back.domain) == list(workload.domain)
    assert back.domain == workload.domain


def test_a_workload_of_another_kind_is_not_read():
    with pytest.raises(ParameterError, match="need a workload among"):
        from_dict({"type": "code"})
    with pytest.raises(ParameterError, match="lacks or misspells"):
        from_dict({"type": "thresholds"})


ON_ROWS = ["counts", "thresholds", "ranges", "two-way marginals", "some marginals", "parities", "parities up to three"]
ON_ROWS += ["all conjunctions", "monotone disjunctions up to three", "monotone conjunctions", "a box", "a junta"]
ON_ROWS += ["stacked with signs", "weighted", "a slice", "predicates on one column"]


@pytest.mark.parametrize("name", ON_ROWS)
def test_answers_on_rows_are_those_on_their_histogram(name):
    workload = WORKLOADS[name]
    records = Records.random(workload.domain, 300, seed=5)

    assert np.array_equal(workload.answer(records), workload.answer(records.histogram()))


def test_marginals_are_in_the_order_of_the_matrix():
    """Straight from the definition: for each set, for each combination of values."""
    w = marginals(MIXED, 2)
    sizes = {name: declared.size for name, declared in MIXED.items()}
    rows = []
    for names in itertools.combinations(MIXED, 2):
        for values in itertools.product(*(range(sizes[name]) for name in names)):
            want = dict(zip(names, values, strict=True))
            cells = itertools.product(*(range(size) for size in sizes.values()))
            rows.append([all(dict(zip(MIXED, c, strict=True))[k] == v for k, v in want.items()) for c in cells])

    assert np.array_equal(w.matrix(), np.array(rows))


def test_products_are_those_of_the_definition():
    cells = list(itertools.product((0, 1), repeat=4))
    sets = [s for k in range(4) for s in itertools.combinations(range(4), k)]
    signs = [[(-1) ** sum(c[i] for i in s) for c in cells] for s in sets]
    ands = [[int(all(c[i] for i in s)) for c in cells] for s in sets]
    ors = [[int(any(c[i] for i in s)) for c in cells] for s in sets]

    assert parities(4, 3, at_most=True).matrix().tolist() == signs
    assert monotone_conjunctions(4, 3, at_most=True).matrix().tolist() == ands
    assert monotone_disjunctions(4, 3, at_most=True).matrix().tolist() == ors


def test_a_disjunction_is_what_no_negated_conjunction_holds():
    cells = np.random.default_rng(6).integers(0, 9, size=16)
    flipped = cells[::-1]  # every bit negated
    ors, ands = monotone_disjunctions(4, 4, at_most=True), monotone_conjunctions(4, 4, at_most=True)

    assert np.array_equal(ors.apply(cells), cells.sum() - ands.apply(flipped))


def test_two_ways_from_parities():
    """q^11 = (n + y_i + y_j + y_ij) / 4, where a sign of +1 is a bit of zero."""
    cells = np.random.default_rng(7).integers(0, 9, size=4)
    n, first, second, both = parities(2, 2, at_most=True).apply(cells)

    assert 4 * conjunctions(2, 2).apply(cells)[0] == n + first + second + both


@each
def test_every_query_is_found_at_its_place_or_at_an_equal_one(workload):
    rows = np.array(written(workload), dtype=float)
    for index in range(len(workload)):
        place = place_of(workload, workload[index])

        assert place is None or np.array_equal(rows[place], rows[index])
        assert place is not None or not isinstance(workload[index], Box | Junta)


def test_a_query_that_is_not_there_is_not_found():
    assert place_of(thresholds(5), ranges(5)[7]) is None
    assert place_of(marginals(MIXED, 1), marginals(MIXED, 2)[0]) is None
    assert place_of(2 * marginals(MIXED, 1), marginals(MIXED, 1)[0]) is None
    assert place_of(marginals(MIXED, 1), Box(MIXED, ("age",), (0,), (1,))) is None
    assert places_of(thresholds(5), ranges(5)) is None
    assert places_of(ranges(5), thresholds(5)) == [0, 1, 2, 3, 4]


def test_published_sensitivities():
    d = 10
    assert parities(d, 2).squared(Replace) == d**2
    assert parities(d, 2).absolute(Replace) == d**2 // 2
    assert parities(d, 2).squared(AddRemove) == d * (d - 1) // 2
    assert marginals(Domain({f"b{i}": Boolean() for i in range(d)}), 3).absolute(Replace) == 240
    assert len(conjunctions(10)) == 59049


def test_a_view_is_the_memory_of_its_cells():
    domain = Domain({f"b{i}": Boolean() for i in range(12)})
    w = marginals(domain, 2)
    for index in (0, 17, len(w) - 1):
        for cells in (np.zeros(1 << 12), torch.zeros(1 << 12)):
            box = w[index]
            assert isinstance(box, Box)
            box.view(cells)[...] += 1

            assert int(cells.sum()) == 1 << 10
            assert np.array_equal(np.asarray(cells), w[index].matrix()[0])


def test_blocks_hold_the_columns_on_odd_axes():
    query = parities(BITS, 2)[1]  # b0, b2

    assert isinstance(query, Junta)
    assert query.blocks(np.arange(16)).shape == (1, 2, 2, 2, 2)


def test_many_random_queries_are_not_kept():
    domain = Domain({f"b{i}": Boolean() for i in range(14)})
    w = random_counting(domain, 1000, seed=3)
    cells = np.random.default_rng(8).integers(0, 3, size=1 << 14)

    assert not w.exact
    assert w.squared(Replace) == 1000
    assert w.apply(cells)[123] == w.bits(123) @ cells
    assert np.array_equal(w.bits(5), random_counting(domain, 9, seed=3).bits(5))
    assert not np.array_equal(w.bits(5), random_counting(domain, 9, seed=2).bits(5))


def test_large_combinations_state_an_upper_bound():
    side = Domain({"x": Integer(0, 99)}), Domain({"y": Integer(0, 99)})
    grid = kron(thresholds(side[0]), thresholds(side[1]))
    both = marginals(grid.domain, 2) + marginals(grid.domain, 1)

    assert not grid.exact
    assert grid.squared(AddRemove) == 100**2
    assert grid.squared(Replace) == 2 * 100**2  # the true one is less by half and one
    assert kron(counts(side[0]), thresholds(side[1])).exact
    assert not both.exact
    assert both.squared(Replace) == 6


def test_a_slice_of_many_cells_states_an_upper_bound():
    w = marginals(Domain({f"b{i}": Boolean() for i in range(20)}), 2)
    several = w[0:6]

    assert not several.exact
    assert several.squared(AddRemove) == 6  # two tables: the true one is 2
    assert w[0:9].squared(Replace) == 9
    assert w[5].squared(Replace) == 1
    assert w[0:500].squared(AddRemove) == w.squared(AddRemove) == 190


def test_bad_parameters_are_refused():
    bad = [
        lambda: thresholds(0),
        lambda: thresholds(True),
        lambda: ranges(2.5),  # type: ignore[arg-type]
        lambda: thresholds(MIXED),
        lambda: parities(4, 5),
        lambda: parities(4, True),
        lambda: parities(MIXED, 1),
        lambda: parities(-1, 1),
        lambda: marginals(MIXED, 9),
        lambda: marginals(MIXED, "age"),
        lambda: marginals(MIXED, [("age",), ("age",)]),
        lambda: marginals(MIXED, 1, weights=[1, 1, 0]),
        lambda: 0 * thresholds(3),
        lambda: float("nan") * thresholds(3),
        lambda: Dense([[1, 2]], MIXED),
        lambda: Dense([[1.0, float("inf")]], Domain({"x": Boolean()})),
        lambda: random_counting(MIXED, 0, seed=1),
        lambda: random_counting(MIXED, 3, seed=-1),
        lambda: from_predicates(MIXED, []),
        lambda: from_predicates(MIXED, [lambda row: 3]),
        lambda: Box(MIXED, ("age",), (1,), (3,)),
        lambda: Junta(MIXED, ("icu", "age"), np.zeros(6)),
        lambda: kron(thresholds(3), thresholds(4)),
        lambda: Stacked([]),
        lambda: thresholds(3)[3],
    ]
    for build in bad:
        with pytest.raises(ParameterError):
            build()


def test_predicates_as_text_mean_what_they_mean_in_a_question():
    age, ward = range(3), ("a", "b", None)
    texts = ["age >= 1 AND ward = 'a'", "ward IS NULL", "icu OR NOT age = 2", "ward IN ('a', 'b')", "age * 2 > 3"]
    rules = [
        lambda a, i, w: a >= 1 and w == "a",
        lambda a, i, w: w is None,
        lambda a, i, w: i or a != 2,
        lambda a, i, w: w in ("a", "b"),
        lambda a, i, w: a * 2 > 3,
    ]
    cells = list(itertools.product(age, (False, True), ward))
    w = from_predicates(MIXED, texts)

    assert w.matrix().tolist() == [[int(rule(*cell)) for cell in cells] for rule in rules]
    assert isinstance(w[1], Junta)
    assert w[1].names == ("ward",)


def test_conditions_of_the_library_are_predicates():
    old = Conjunction(("ward", "age", "icu"), (("age", ">=", 1), ("ward", "=", "b")))

    assert np.array_equal(
        from_predicates(MIXED, [old]).matrix(), from_predicates(MIXED, ["age >= 1 AND ward = 'b'"]).matrix()
    )


@pytest.mark.parametrize("text", ["agee > 1", "age >", "SELECT", "age > 1 GROUP BY age", "1 = 1", "COUNT(*) > 3"])
def test_text_that_is_no_predicate_is_refused(text):
    with pytest.raises(DiscreetError):
        from_predicates(MIXED, [text])


def test_domains_do_not_mix():
    with pytest.raises(DomainError):
        thresholds(3) + thresholds(4)
    with pytest.raises(DomainError):
        thresholds(3).answer(Histogram.random(Domain({"x": Integer(0, 3)}), n=9, seed=1))
    with pytest.raises(UnsupportedError, match="about graphs"):
        thresholds(3).absolute(EdgeNeighbours)


def test_identifiers_are_in_no_workload():
    domain = Domain({"patient": Identifier(), "icu": Boolean()})

    assert list(counts(domain).domain) == ["icu"]
    with pytest.raises(DomainError):
        counts(Domain({"patient": Identifier()}))


def test_a_huge_matrix_is_not_written_out():
    with pytest.raises(UnsupportedError, match="not written out"):
        parities(20, 3).matrix()


def test_entries_that_could_wrap_in_64_bits_are_refused():
    """An analyst who picks the weight 2^63 // c + 1 would see whether a count reaches c, whatever the noise."""
    domain = Domain({"a": Boolean()})
    huge = 2**63 // 300 + 1
    makers = [
        lambda: huge * marginals(domain, 1),
        lambda: marginals(domain, 1, weights=[huge]),
        lambda: Dense([[huge, 0]], domain),
        lambda: Box(domain, ("a",), (0,), (0,), value=huge),
        lambda: Junta(domain, ("a",), np.array([huge, 0])),
        lambda: kron(2**20 * thresholds(2), 2**20 * marginals(Domain({"b": Boolean()}), 1)),
    ]
    for make in makers:
        with pytest.raises(ParameterError, match=r"entries below 2\^31"):
            make()
    assert (2**30 * thresholds(2)).entry == 2**30
    assert (2**30 * thresholds(2) + thresholds(2))[1:].entry == 2**30


def test_narrow_integers_of_a_histogram_do_not_wrap():
    domain = Domain({"a": Boolean(), "b": Boolean()})
    small = Histogram(domain, np.full((2, 2), 100, dtype=np.uint8))

    assert (100 * marginals(domain, 2)).answer(small).tolist() == [10_000] * 4
    assert small.n == 400


def test_integers_of_torch_are_counted_exactly():
    domain = Domain({"a": Boolean()})
    workload = random_counting(domain, 64, seed=1)
    counts_of = [2**25 + 1, 2**25 + 3]

    found = workload.answer(Histogram(domain, torch.tensor(counts_of)))

    assert found.tolist() == (workload.matrix() @ np.array(counts_of)).tolist()


def test_queries_are_named_by_their_own_number_only():
    """-1 and len - 1 are one query; counted as two they would halve the sensitivity of large slices."""
    with pytest.raises(ParameterError, match="queries from 0 to 3"):
        Rows(thresholds(4), (0, -1))
    with pytest.raises(ParameterError, match="queries from 0 to 3"):
        Rows(thresholds(4), (4,))
