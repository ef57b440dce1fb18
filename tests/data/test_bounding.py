"""discreet.data.engines.bounding and reference: one definition, three computations, and the bound itself."""

from __future__ import annotations

import dataclasses
import hashlib

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.engines import bounding, hashing, kernels, results, spark_bounding, texts
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.reference import Candidates
from tests.data import tables
from tests.data.tables import aggregation, frame, run, sensitivity
from tests.scale import counts

FAST, PLAIN = DuckDB(threads=2), DuckDB(plain=True, threads=2)
KINDS = ("integer", "text", "unsigned")


@pytest.mark.parametrize("kind", KINDS)
def test_the_compiled_path_keeps_exactly_the_rows_of_the_sql(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    for _ in range(counts(quick=40, full=700)):
        source, plan = (
            frame(rng, int(rng.integers(0, 500)), kind=kind, units=int(rng.integers(2, 60))),
            aggregation(rng),
        )

        assert (run(FAST, source, plan) == run(PLAIN, source, plan)).all()


def test_both_follow_the_definition_written_out_in_python():
    rng = np.random.default_rng(5)
    measures = (tables.MEASURES[2], tables.MEASURES[0], tables.MEASURES[3])
    for _ in range(counts(quick=10, full=300)):
        units, a, x = rng.integers(-20, 20, 200), rng.integers(0, 8, 200), rng.integers(-3, 4, 200)  # many ties
        source = pa.table({"u": units, "a": a, "b": a, "x": x * 0.25, "y": a})
        plan = dataclasses.replace(aggregation(rng), keys=(tables.KEYS["a"],), where=None, measures=measures)
        by_hand = tables.by_hand(units.tolist(), a, x[:, None], plan)

        assert run(FAST, source, plan).tolist() == by_hand
        assert run(PLAIN, source, plan).tolist() == by_hand


def test_order_of_rows_batches_and_threads_change_nothing(monkeypatch):
    rng = np.random.default_rng(6)
    for kind in KINDS:
        source, plan = frame(rng, 3000, kind=kind, units=40), aggregation(rng, rows=7, groups=3)
        expected = run(FAST, source, plan)
        for repeat in range(counts(quick=6, full=333)):
            monkeypatch.setattr(bounding, "BATCH", [1 << 17, 2048, 1 << 12][repeat % 3])
            mixed = source.take(pa.array(rng.permutation(3000)))

            assert (run(DuckDB(threads=1 + repeat % 2), mixed, plan) == expected).all()


def giant(rng, kind):
    """One unit with 10,000 rows in 1,000 groups."""
    n = 10_000
    made = tables.values(rng, n)
    made["a"] = pa.array(np.arange(n) % 1000, pa.int32())
    return pa.table({"u": tables.names(kind, np.full(n, 99_999))} | made)


THOUSAND = tables.Key(code=tables.sql('"a"'), size=1000)
WIDE = tables.Domain({**tables.DOMAIN, "a": tables.Integer(0, 999)})


def distances(engine, rng, kind):
    """The change of each measure when the giant unit is taken away, with what is declared."""
    others = frame(rng, 500, kind=kind)
    plan = dataclasses.replace(aggregation(rng), keys=(THOUSAND,) if rng.random() < 0.8 else ())
    with_unit, without = (
        engine.run(tables.Table(source, domain=WIDE, unit="u", rows_per_unit=1, groups_per_unit=1), plan).through(
            lambda cells: cells
        )
        for source in (pa.concat_tables([others, giant(rng, kind)]), others)
    )
    for i, measure in enumerate(plan.measures):
        change = [abs(int(a) - int(b)) for a, b in zip(with_unit[:, i], without[:, i], strict=True)]
        yield sum(change), sum(c * c for c in change), *sensitivity(plan, measure)


def exceeds(engine):
    """Whether one of five random plans shows a change above the declared one."""
    rng = np.random.default_rng(1)
    return any(l1 > declared for _ in range(5) for l1, _, declared, _ in distances(engine, rng, "integer"))


@pytest.mark.parametrize("kind", KINDS)
def test_one_unit_changes_an_answer_by_no_more_than_is_declared(kind):
    rng = np.random.default_rng(7 + KINDS.index(kind))
    largest = 0.0
    for _ in range(counts(quick=150, full=3400)):
        for l1, squared, l1_declared, squared_declared in distances(FAST, rng, kind):
            assert l1 <= l1_declared
            assert squared <= squared_declared
            largest = max(largest, l1 / l1_declared)

    assert largest == 1  # the declaration is not loose


def test_a_twin_that_forgets_truncation_is_caught(monkeypatch):
    exact = kernels.add_up
    monkeypatch.setattr(kernels, "add_up", lambda *a: exact(*a[:8], 1 << 60, 1 << 60, *a[10:]))

    assert exceeds(FAST)


def test_a_twin_that_bounds_each_batch_is_caught(monkeypatch):
    """Bounding per batch is bounding by how the engine happens to cut the rows."""
    whole = bounding.aggregate

    def per_batch(batches, plan, candidates, *, threads):
        return sum(whole([batch], plan, candidates, threads=threads) for batch in batches)

    monkeypatch.setattr(bounding, "aggregate", per_batch)
    monkeypatch.setattr(bounding, "BATCH", 2048)

    assert exceeds(FAST)


def test_a_unit_is_compared_by_its_whole_name(monkeypatch):
    """Even if all hashes collide, no two units are taken for one."""
    rng = np.random.default_rng(3)
    source, plan = frame(rng, 400, kind="text"), aggregation(rng)
    expected = run(FAST, source, plan)
    exact = texts.part_texts

    def colliding(words, ends, hashes, groups, keys, *rest):
        end = exact(words, ends, hashes, groups, keys, *rest)
        keys[:end] &= -(1 << 56)
        return end

    monkeypatch.setattr(texts, "part_texts", colliding)

    assert (run(FAST, source, plan) == expected).all()


def test_the_hash_of_a_text_is_its_md5():
    for length in (*range(70), 119, 120, 121, 1000):
        text = bytes(range(256))[:length] if length < 256 else b"ab" * (length // 2)
        digest = hashlib.md5(text).digest()
        words = np.frombuffer((text + b"\1").ljust(8 * (length // 8 + 1), b"\0"), np.uint64)
        found = texts.md5_words(words, 0, words.size, np.empty(16, np.uint32))

        assert found == (int.from_bytes(digest[:4], "big"), int.from_bytes(digest[4:8], "big"))


def test_every_group_has_the_same_chance():
    """Of 20 groups, which comes first over 40,000 consecutive units: chi-squared at 1e-6."""
    from scipy.stats import chisquare

    start = hashing.start(12345, hashing.GROUPS)
    first = []
    for unit in range(40_000):
        state = hashing.absorb(hashing.absorb(start, unit), 0)
        first.append(min(range(20), key=lambda g, state=state: hashing.absorb(state, g)))

    assert chisquare(np.bincount(first, minlength=20)).pvalue > 1e-6


def test_a_wide_sum_is_exact():
    most = (1 << 62) - 1
    domain = tables.Domain({"u": tables.Identifier(), "v": tables.Integer(-most, most)})
    source = pa.table({"u": list(range(300)), "v": [most] * 299 + [-5]})
    plan = dataclasses.replace(
        aggregation(np.random.default_rng(0), rows=1, groups=1), columns=("v",), where=None, keys=(),
        measures=(tables.Measure(kind="sum", value=tables.sql('"v"'), low=-most, high=most),),
    )  # fmt: skip
    declared = tables.Table(source, domain=domain, unit="u")

    for engine in (FAST, PLAIN):
        assert engine.run(declared, plan).through(lambda cells: cells.tolist()) == [[299 * most - 5]]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 0), (0, 100), (-(2**31), 2**31 - 1), (0, 2**61)])
def test_no_number_of_rows_makes_a_sum_too_large_for_where_it_is_put(low, high):
    measure = tables.Measure(kind="sum", value=tables.sql('"v"'), low=low, high=high)
    plan = dataclasses.replace(aggregation(np.random.default_rng(0)), columns=("v",), keys=(), measures=(measure,))
    most = (2**63 - 1) * (high or low)  # as many rows as an engine can count, all at the bound

    assert int(results.cells(plan, [(0, most)])[0, 0]) == most


def in_sixty_four_bits(monkeypatch, sure):
    """The rows that 64-bit sums hold, after each time that some were added to them."""
    seen, add_up = [], kernels.add_up

    def watched(*given):
        add_up(*given)
        cells = given[-3]
        seen.append(int(cells[:, 1].sum()))

    monkeypatch.setattr(bounding, "SURE", sure)
    monkeypatch.setattr(kernels, "add_up", watched)
    return seen


@pytest.mark.parametrize("kind", KINDS)
def test_64_bits_never_hold_more_rows_than_they_are_sure_to_add_up(monkeypatch, kind):
    rng = np.random.default_rng(12)
    source, plan = frame(rng, 2_000, kind=kind, units=300), aggregation(rng, rows=3, groups=2)
    expected = run(PLAIN, source, plan)
    seen = in_sixty_four_bits(monkeypatch, 5)

    assert (run(FAST, source, plan) == expected).all()
    assert max(seen) <= 5 < int(expected.max())


def test_rows_of_one_unit_that_64_bits_might_not_add_up_are_added_by_sql(monkeypatch):
    rng = np.random.default_rng(13)
    source, plan = frame(rng, 500, kind="integer", units=9), aggregation(rng, rows=6, groups=2)
    expected = run(PLAIN, source, plan)
    seen = in_sixty_four_bits(monkeypatch, 5)

    assert (run(FAST, source, plan) == expected).all()
    assert seen == []


def test_a_cluster_adds_many_rows_of_one_unit_as_decimals():
    rng = np.random.default_rng(14)
    for rows, decimals in ((2**32 - 1, False), (2**32, True)):
        plan = aggregation(rng, rows=rows, groups=2)
        summed = tuple(i for i, one in enumerate(plan.measures) if one.kind == "sum")
        made = Candidates(sql="SELECT * FROM candidates", unit="BIGINT", summed=summed)
        each = spark_bounding.distributed(plan, made).split("GROUP BY u")[0]

        assert ("SUM(n" not in each, "SUM(1L" not in each) == (True, decimals)


def test_more_groups_than_fit_on_the_short_list_are_chosen_alike():
    rng = np.random.default_rng(9)
    source = giant(rng, "integer")
    for groups, rows in ((31, 500), (32, 9_000), (33, 50), (400, 20_000), (2_000, 7)):
        plan = dataclasses.replace(aggregation(rng, rows=rows, groups=groups), keys=(THOUSAND,), where=None)
        declared = tables.Table(source, domain=WIDE, unit="u")
        fast, plain = (engine.run(declared, plan).through(lambda cells: cells) for engine in (FAST, PLAIN))

        assert (fast == plain).all()
