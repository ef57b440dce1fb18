"""discreet.synthesis.quality: what it measures, and that nobody makes it by accident."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.data import Records
from discreet.errors import DiscreetError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.synthesis import Quality, Synthesizer, quality, synthetic
from discreet.synthesis.quality import WARNING
from discreet.synthesis.quality_learning import learned
from discreet.synthesis.quality_neighbours import nearness
from discreet.synthesis.quality_tables import distances

DOMAIN = dc.Domain(
    {"age": dc.Integer(0, 39), "dose": dc.Integer(0, 9), "ward": dc.Categorical(list("abcde")), "icu": dc.Boolean()}
)


def patients(n, *, seed):
    """icu follows age and dose; ward is its own."""
    rng = np.random.default_rng(seed)
    age, dose, ward = rng.integers(0, 40, n), rng.integers(0, 10, n), rng.integers(0, 5, n)
    icu = rng.random(n) < 1 / (1 + np.exp(-(age - 20) / 3 - (dose - 5)))
    return Records(DOMAIN, [age, dose, ward, icu.astype(int)])


def shuffled(rows, *, seed):
    """Every column by itself: right columns, nothing else."""
    rng = np.random.default_rng(seed)
    return Records(rows.domain, [rng.permutation(rows.column(name)) for name in rows.domain])


@pytest.fixture(scope="module")
def made():
    return Synthesizer(DOMAIN, budget=dc.ApproxDP(2.0, 1e-6)).fit(patients(6000, seed=1), rng=SeededRandom(1))


@pytest.fixture(scope="module")
def found(made):
    return quality(made, patients(6000, seed=1), rng=SeededRandom(2))


def test_it_says_at_every_turn_that_it_is_private(found, tmp_path):
    html = found.write(tmp_path / "private.html").read_text()

    assert WARNING in repr(found)
    assert str(found).startswith(WARNING)
    assert html.index('class="private"') < html.index("<h1>")
    assert "<title>PRIVATE" in html
    assert html.count(WARNING.replace("'", "&#x27;")) + html.count(WARNING) >= 3
    assert "<script" not in html
    with pytest.raises(TypeError, match="cannot be copied or stored"):
        pickle.dumps(found)


def test_nothing_public_makes_it(made):
    """No method of synthetic data takes private rows, and the public page does not carry the warning."""
    assert "quality" not in inspect.getsource(synthetic)
    assert not [name for name in dir(type(made)) if "quality" in name]
    assert "STEWARD" not in made.report().to_html()
    assert "quality" not in dir(dc)


def test_it_changes_nothing_that_was_published(made):
    before = made.report().to_html()
    quality(made, patients(6000, seed=1), rng=SeededRandom(5))

    assert made.report().to_html() == before


def test_total_variation_of_the_rows_themselves_is_zero_and_of_shuffled_columns_is_not():
    rows = patients(3000, seed=3)
    same, loose = distances(rows, rows, []), distances(shuffled(rows, seed=1), rows, [])

    assert [one.mean for one in same] == [0, 0, 0]
    assert [one.tables for one in same] == [4, 6, 4]
    assert loose[0].mean == 0
    assert loose[1].worst > 0.3
    assert "icu" in loose[1].worst_table
    assert 0 < same[1].bootstrap < same[2].bootstrap < 0.3


def test_errors_stand_beside_the_noise_and_the_bootstrap(made, found):
    one, two, three = found.distances
    measured = [m for m in made.progress.measurements if len(m.columns) == 1]
    halves = [m.sd * np.sqrt(2 / np.pi) * np.size(m.values) / (2 * 6000) for m in measured]

    assert one.noise == pytest.approx(np.mean(halves))
    assert one.mean < 3 * one.noise
    assert one.mean < two.mean < three.mean < 0.25
    assert 0 < one.bootstrap < two.bootstrap < three.bootstrap
    assert np.isnan(three.noise)  # no table of three columns was measured


def test_training_on_synthetic_rows_is_nearly_training_on_real_ones_and_on_shuffled_ones_is_not(found):
    rows = patients(6000, seed=1)
    lesson, twin = found.learning["icu"], learned(shuffled(rows, seed=2), rows, "icu")

    assert lesson.real > lesson.majority + 0.2
    assert lesson.synthetic > lesson.real - 0.03
    assert twin.synthetic < twin.real - 0.1
    assert learned(rows, rows, "ward").majority < 0.3  # more than two values


def test_a_synthesizer_that_copies_is_nearer_than_strangers():
    wide = dc.Domain({f"c{i}": dc.Integer(0, 19) for i in range(8)})
    rows, fresh = Records.random(wide, 3000, seed=1), Records.random(wide, 3000, seed=1)
    half = np.random.default_rng(0).permutation(3000)  # strangers of the same law, and copies
    copied = nearness(rows, rows)
    honest = nearness(Records(wide, [fresh.column(name)[half][::-1] for name in wide]), rows, seed=3)

    lines = {name: identical for name, identical, *_ in copied.lines()}
    assert lines["synthetic"] > 0.4  # half of the copies are in the half compared with
    assert lines["strangers"] < 0.05
    assert len(honest.synthetic) == 1000


def test_nearest_neighbours_are_those_of_the_naive_search():
    rows, drawn = patients(60, seed=1), patients(40, seed=2)
    got = nearness(drawn, rows, seed=4)
    rng = np.random.default_rng(4)
    order = rng.permutation(60)
    picked = rng.permutation(40)

    def distance(i, j):
        far = abs(int(drawn.column("age")[i]) - int(rows.column("age")[j])) / 39
        far += abs(int(drawn.column("dose")[i]) - int(rows.column("dose")[j])) / 9
        return far + sum(drawn.column(name)[i] != rows.column(name)[j] for name in ("ward", "icu"))

    naive = [min(distance(i, j) for j in order[:30]) for i in picked]
    assert got.synthetic == pytest.approx(naive, abs=1e-5)


def test_the_same_seed_gives_the_same_figures(made):
    rows = patients(6000, seed=1)
    one, other = (quality(made, rows, rng=SeededRandom(2), seed=3) for _ in range(2))

    assert one.to_html() == other.to_html()
    assert isinstance(one, Quality)


def test_what_cannot_be_compared_is_refused(made):
    with pytest.raises(ParameterError, match="at least 20 rows"):
        quality(made, patients(5, seed=1))
    with pytest.raises(DiscreetError, match="nothing"):
        quality(made, patients(50, seed=1), targets=["nothing"])
    with pytest.raises(UnsupportedError, match="rows"):
        quality(made, patients(50, seed=1).histogram())
    assert quality(made, patients(50, seed=1), targets=[]).learning == {}


def test_frames_of_every_kind_of_column_are_compared():
    domain = dc.Domain(
        {
            "cost": dc.Real(0, 100, step="0.01", nullable=True),
            "day": dc.Date("2026-01-01", "2026-12-31"),
            "ward": dc.Categorical(["a", "b", "c"]),
        }
    )
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "cost": np.where(rng.random(300) < 0.1, np.nan, rng.integers(0, 10_000, 300) / 100),
            "day": pd.Timestamp("2026-03-01") + pd.to_timedelta(rng.integers(0, 90, 300), unit="D"),
            "ward": rng.choice(list("abc"), 300),
        }
    )
    made = Synthesizer(domain, budget=dc.ZCDP(0.5)).fit(frame, rng=SeededRandom(1))
    found = quality(made, frame, targets=["ward"])

    assert [one.columns for one in found.distances] == [1, 2]  # no table of all three has few enough cells
    assert set(found.learning) == {"ward"}
    assert len(found.nearness.strangers) == 150


def test_one_column_alone_is_compared():
    rows = Records(dc.Domain({"icu": dc.Boolean()}), [np.arange(100) % 2])
    found = quality(Synthesizer(rows.domain, budget=dc.ZCDP(0.5)).fit(rows, rng=SeededRandom(1)), rows)

    assert [one.columns for one in found.distances] == [1]
    assert found.learning == {}
    assert found.to_html()
