"""discreet.learning: private_gradients, per_example_gradients, per_example_module, neural_probe, neural_noise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.composition.numerical import numerical
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.neural import private_gradients
from discreet.learning.neural.noise import NoisySums
from discreet.learning.neural.per_example_gradients import DenseNetwork
from discreet.learning.neural.per_example_module import ModuleNetwork
from discreet.learning.neural.private_gradients import POINT, SLACK, PrivateGradients, inverse_square
from discreet.learning.neural.probe import alike, close
from discreet.learning.neural.training import BlockSums
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.neighbours import Replace
from tests.arrays import torch
from tests.scale import counts

torch.set_num_threads(1)  # threads that wait for one another take a hundred times longer on a busy machine

CASES = counts(quick=60, full=2000)
LARGE = 2.0**40


def run(**changed):
    given = {"noise_multiplier": 1, "rate": "0.01", "steps": 1000, "parameters": 1, "block": 1}
    return PrivateGradients(**given | changed)


def rows_for(width, count, seed, *, classes=3):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, width, generator=generator), torch.randint(classes, (count,), generator=generator)


def test_the_price_agrees_with_google_and_lies_below_that_of_renyi_orders():
    from dp_accounting import dp_event
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    sampled = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0))
    theirs = PLDAccountant().compose(sampled, 1000).get_epsilon(1e-5)
    renyi = RdpAccountant().compose(sampled, 1000).get_epsilon(1e-5)
    ours = float(run().privacy(1e-5).epsilon)

    assert theirs * (1 - 1e-4) <= ours <= theirs * 1.001
    assert 0.7 * renyi <= ours <= renyi


def test_without_sampling_the_price_is_that_of_the_gaussian_mechanism():
    closed = GaussianDP.from_square(Fraction(25, 16)).to_approx(1e-5)
    ours = run(rate=1, steps=25, noise_multiplier=4).privacy(1e-5)

    assert float(closed.epsilon) <= float(ours.epsilon) <= 1.001 * float(closed.epsilon)


@pytest.mark.parametrize("bands", [1, 4])
@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_the_noise_keeps_the_budget_and_less_would_not(epsilon, bands):
    budget = ApproxDP(epsilon, 1e-6)
    found = PrivateGradients.meeting(budget, rate="0.05", steps=200, parameters=1000, bands=bands)
    less = run(
        rate="0.05", steps=200, parameters=1000, bands=bands, block=64, noise_multiplier=found.noise_multiplier * 0.995
    )

    assert found.privacy(1e-6) <= budget
    assert not less.privacy(1e-6) <= budget
    assert numerical([found.event()], 1e-6) <= budget


def test_a_budget_in_zcdp_is_charged_without_sampling():
    found = PrivateGradients.meeting(ZCDP(0.5), rate="0.1", steps=100, parameters=10)

    assert found.noise_multiplier == pytest.approx(10)
    assert exact_rho(found) * 100 <= Fraction(1, 2)


def exact_rho(found):
    return (found.sensitivity / found.sigma) ** 2 / 2


@pytest.mark.parametrize("budget", [PureDP(1), ApproxDP(0, 1e-6), ApproxDP(1, 0), ZCDP(0)])
def test_a_budget_that_no_noise_of_this_kind_keeps_is_refused(budget):
    with pytest.raises(UnsupportedError, match="need a budget such as"):
        PrivateGradients.meeting(budget, rate="0.1", steps=100, parameters=10)


def test_a_budget_for_replaced_rows_is_refused():
    with pytest.raises(UnsupportedError, match="added or removed"):
        PrivateGradients.meeting(ApproxDP(1, 1e-6).under(Replace), rate="0.1", steps=10, parameters=10)


def test_the_noise_is_never_chosen_for_more_than_the_budget(monkeypatch):
    """A budget just below 1 is not 1: rounded to the nearest float, noise that costs 1 would do for it."""
    just = Fraction(1) - Fraction(1, 2**80)
    monkeypatch.setattr(private_gradients, "_epsilon", lambda draft, noise, delta: noise**-1.5)
    least = private_gradients._least

    assert float(just) == 1
    assert least(ApproxDP(just, 1e-6), run()) ** -1.5 <= just
    assert least(ApproxDP(1, 1e-6), run()) == 1


def test_the_largest_noise_that_is_allowed_is_drawn_as_an_array():
    plan = run(noise_multiplier=Fraction(2**52) / run().sensitivity)
    with NoisySums(plan, device="cpu", rng=SeededRandom(6)) as noisy:
        released = noisy.release(torch.zeros(1, dtype=torch.int64))

    assert plan.sigma == 2**52
    assert torch.isfinite(released).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"noise_multiplier": 0}, {"noise_multiplier": float("nan")}, {"rate": 0}, {"rate": 1.5}, {"steps": 0},
        {"steps": True}, {"parameters": 2.0}, {"bands": 3}, {"block": 4096}, {"bits": 11},
        {"noise_multiplier": 2**26}, {"noise_multiplier": 10**6, "bands": 8, "steps": 8},
    ],
    ids=str,
)  # fmt: skip
def test_settings_outside_their_domain_are_refused(wrong):
    with pytest.raises(ParameterError):
        run(**wrong)


def test_a_row_of_one_class_moves_windows_of_steps_that_do_not_overlap():
    """The band of the noise is as wide as the distance of the steps that a row takes part in."""
    plan = run(steps=20, bands=5, rate=1)
    moved = np.zeros(20, dtype=np.int64)
    moved[3::5] = 1  # the steps of class 3
    measured = np.convolve(moved, plan.coefficients)[:20]
    windows = [int((measured[at : at + 5].astype(object) ** 2).sum()) for at in range(3, 20, 5)]

    assert len(windows) == plan.event().count == 4
    assert max(windows) == sum(a * a for a in plan.coefficients)
    assert max(windows) * plan.single**2 <= plan.sensitivity**2
    assert plan.sensitivity**2 <= max(windows) * plan.single**2 * (1 + Fraction(1, 10**9))


def test_correlated_noise_makes_running_sums_of_gradients_better():
    """At one sampling rate of 1 and one pass: the error of the last sum, at equal privacy."""
    alone, banded = run(rate=1, steps=64), run(rate=1, steps=64, bands=64)
    response = np.zeros(64)
    response[0] = 1
    from scipy.signal import lfilter

    sums = np.cumsum(lfilter([1.0], banded.coefficients, response))
    correlated = float(banded.sensitivity) ** 2 * float((sums**2).sum())
    independent = 64 * float(alone.sensitivity) ** 2

    assert correlated < independent / 5  # all 64 rows are in one class each: one step each
    assert inverse_square((1,), 5) == 1.0


# Gradients of rows


def by_autograd(network, inputs, targets):
    """The gradient of every row, in 64 bits, one backward pass a row."""
    module = torch.nn.Sequential()
    for place, (matrix, vector) in enumerate(network._layers):
        layer = torch.nn.Linear(matrix.shape[1], matrix.shape[0]).double()
        layer.weight.data, layer.bias.data = matrix.double(), vector.double()
        module.append(layer)
        if place < len(network._layers) - 1:
            module.append(torch.nn.ReLU() if network.activation == "relu" else torch.nn.Tanh())
    found = []
    for row, target in zip(inputs.double(), targets, strict=True):
        module.zero_grad()
        out = module(row[None])
        if network.loss == "classes":
            torch.nn.functional.cross_entropy(out, target[None]).backward()
        else:
            ((out[0, 0] - target.double()) ** 2 / 2).backward()
        found.append(torch.cat([weight.grad.reshape(-1) for weight in module.parameters()]))
    return torch.stack(found)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("loss", ["classes", "squares"])
def test_the_sum_of_a_block_is_that_of_clipped_gradients_of_rows(loss, activation):
    network = DenseNetwork((5, 7, 6, 3 if loss == "classes" else 1), clip=0.4, loss=loss, activation=activation,
                           block=8, table=16)  # fmt: skip
    inputs, labels = rows_for(5, 16, 3)
    targets = labels if loss == "classes" else inputs[:, 0].clone()
    gradients = by_autograd(network, inputs, targets)
    clipped = gradients / gradients.norm(dim=1, keepdim=True).clamp(min=0.4)
    sums = [total.clone() for total in network.sums(network.rows(inputs, targets), 16, torch.empty(len(clipped[0])))]

    assert (gradients.norm(dim=1) > 0.4).any()
    assert torch.allclose(sums[0].double(), clipped[:8].sum(0), atol=1e-6)
    assert torch.allclose(sums[1].double(), clipped[8:].sum(0), atol=1e-6)


def exact_square(parts, layers, row, *, bias=True):
    """The squared length of a row's part of the sum, in rationals, from the very numbers that are multiplied."""
    total, scale = Fraction(0), float(parts[-1][row])
    for value, change in zip(parts[:layers], parts[layers:-1], strict=True):
        size = sum((Fraction(float(x)) ** 2 for x in value[row]), Fraction(int(bias)))
        scaled = (change[row] * scale).float()
        total += size * sum((Fraction(float(x)) ** 2 for x in scaled), Fraction(0))
    return total


@pytest.mark.parametrize("size", [1e-20, 1.0, 1e6, 1e14])
def test_no_row_of_a_sum_is_longer_than_the_clipping_length(size):
    """In exact arithmetic; the slack is in the sensitivity."""
    network = DenseNetwork((6, 5, 3), clip=0.1, block=8, table=8)
    lengths = []
    for seed in range(max(1, CASES // 20)):
        inputs, targets = rows_for(6, 8, seed)
        parts = network.rows(inputs * size, targets)
        lengths += [exact_square(parts, 2, row) for row in range(8)]

    assert max(lengths) <= (1 + SLACK) ** 2
    assert max(lengths) >= 1 - SLACK  # and clipping is no stricter than it says


def test_a_length_without_the_biases_would_be_caught():
    """Twin: |delta| |a| instead of |delta| sqrt(|a|^2 + 1)."""
    network = DenseNetwork((6, 5, 3), clip=0.1, block=8, table=8)
    inputs, targets = rows_for(6, 8, 1)
    parts = network.rows(inputs * 0.01, targets)
    square = sum(
        value.double().square().sum(1) * change.double().square().sum(1)
        for value, change in zip(parts[:2], parts[2:4], strict=True)
    )
    parts[-1] = 1 / square.sqrt().clamp(min=0.1)

    assert max(exact_square(parts, 2, row) for row in range(8)) > (1 + SLACK) ** 2


@pytest.mark.parametrize("poison", [float("nan"), float("inf"), -float("inf"), 1e38])
def test_a_row_that_overflows_counts_as_zero_and_spoils_no_other(poison):
    network = DenseNetwork((3, 4, 2), clip=1.0, activation="relu", block=4, table=4)
    inputs, targets = rows_for(3, 4, 2, classes=2)
    spoiled = inputs.clone()
    spoiled[1] = poison
    kept = network.rows(inputs, targets)
    kept[-1][1] = 0
    clean = next(network.sums(kept, 4, torch.empty(26))).clone()
    found = next(network.sums(network.rows(spoiled, targets), 4, torch.empty(26)))

    assert torch.isfinite(found).all()
    assert torch.equal(found, clean)


def extreme_rows(generator, count, width):
    """Rows of very different sizes, some of them equal, zero or hostile."""
    size = 10.0 ** torch.randint(-3, 4, (count, 1), generator=generator)
    rows = torch.randn(count, width, generator=generator) * size
    rows[torch.randint(count, (2,), generator=generator)] = 0
    rows[int(torch.randint(count, (1,), generator=generator))] = 3e38
    return rows


def moves(network, plan, seed):
    """By how much the integers of a step move when a row is added, in the order that the proof gives to both."""
    generator = torch.Generator().manual_seed(seed)
    draw = np.random.default_rng(seed)
    count = int(draw.integers(0, 40))
    inputs, targets = extreme_rows(generator, count + 1, 4), torch.randint(3, (count + 1,), generator=generator)
    sums = BlockSums(network, inputs, targets, places=alike(network, 4, classes=3))
    order, at = draw.permutation(count), int(draw.integers(0, count + 1))
    added = np.append(order, count)
    added[[at, count]] = added[[count, at]]  # the new row takes a place, and the row that was there goes to the end
    without = sums(order).clone().numpy().astype(object)
    difference = sums(added).numpy().astype(object) - without
    return Fraction(int((difference**2).sum())) / plan.single**2


def test_one_row_moves_the_integers_of_a_step_by_no_more_than_is_accounted_for():
    network = DenseNetwork((4, 6, 3), clip=0.5, block=8, table=16)
    plan = run(parameters=len(network.weights), block=8)
    found = [moves(network, plan, seed) for seed in range(CASES)]

    assert max(found) <= 1
    assert max(found) > Fraction(99, 100)


def test_a_sum_of_unclipped_gradients_would_be_caught(monkeypatch):
    """Twin: the scales are those of no clipping."""
    network = DenseNetwork((4, 6, 3), clip=0.5, block=8, table=16)
    plan = run(parameters=len(network.weights), block=8)
    rows = DenseNetwork.rows

    def unclipped(self, inputs, targets):
        *parts, scale = rows(self, inputs, targets)
        return [*parts, torch.full_like(scale, 2.0)]

    monkeypatch.setattr(DenseNetwork, "rows", unclipped)

    assert max(moves(network, plan, seed) for seed in range(20)) > 1


def test_a_block_is_added_up_within_the_bound_of_the_proof():
    network = DenseNetwork((20, 16, 3), clip=1.0, block=64, table=64)
    inputs, targets = rows_for(20, 64, 5)
    parts = network.rows(inputs, targets)
    scaled = [(change * parts[-1][:, None]).float() for change in parts[2:4]]
    exact = torch.cat(
        [part for value, change in zip(parts[:2], scaled, strict=True)
         for part in ((change.double().t() @ value.double()).reshape(-1), change.double().sum(0))]
    )  # fmt: skip
    total = next(network.sums(parts, 64, torch.empty(len(network.weights))))
    roundoff = 64 * 2.0**-24

    assert float((total.double() - exact).norm()) <= 64 * roundoff / (1 - roundoff)


# Modules


def test_a_module_of_dense_layers_gives_the_sums_of_a_dense_network():
    module = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3))
    general = ModuleNetwork(module, clip=0.5, block=8, table=8)
    dense = DenseNetwork((5, 7, 3), clip=0.5, activation="tanh", block=8, table=8)
    dense.weights.copy_(general.weights)
    inputs, targets = rows_for(5, 8, 4)
    first, second = (
        next(one.sums(one.rows(inputs, targets), 8, torch.empty(len(one.weights)))) for one in (general, dense)
    )

    assert torch.allclose(first, second, atol=1e-6)


class Tied(torch.nn.Module):
    """Two uses of one matrix, and a layer that is not trained."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.both, self.still = torch.nn.Linear(4, 4), torch.nn.Linear(4, 3)
        self.still.requires_grad_(False)

    def forward(self, rows):
        return self.still(self.both(torch.tanh(self.both(rows))))


def test_shared_weights_have_one_gradient_and_frozen_ones_none():
    module = Tied()
    network = ModuleNetwork(module, clip=0.2, block=8, table=8)
    inputs, targets = rows_for(4, 8, 6)
    gradients, scale = network.rows(inputs, targets)
    for row in range(8):
        module.zero_grad()
        torch.nn.functional.cross_entropy(module(inputs[row : row + 1]), targets[row : row + 1]).backward()
        found = torch.cat([module.both.weight.grad.reshape(-1), module.both.bias.grad])

        assert torch.allclose(gradients[row], found, atol=1e-6)
        assert float(scale[row] * found.norm()) <= 1 + 1e-6
    assert len(network.weights) == 20


class Steep(torch.nn.Module):
    """Gradients of the size `slope`, in every weight."""

    def __init__(self, width, slope):
        super().__init__()
        self.layer, self.slope = torch.nn.Linear(width, 2, bias=False), slope
        torch.nn.init.zeros_(self.layer.weight)

    def forward(self, rows):
        return self.layer(rows * self.slope)


@pytest.mark.parametrize("slope", [1.0, 2.0**60, 2.0**92, 2.0**93.5, 2.0**100, 2.0**120, 2.0**127 * 1.7])
def test_no_row_of_a_module_is_longer_than_the_clipping_length(slope):
    """By the scales that are multiplied, which have 32 bits: those of very long gradients would have fewer."""
    width = 8192
    network = ModuleNetwork(Steep(width, slope), clip=1.0, block=4, table=4)
    gradients, scale = network.rows(torch.ones(4, width), torch.zeros(4, dtype=torch.int64))
    length = float((gradients[0].double() * scale[0].float().double()).norm())
    total = next(network.sums([gradients, scale], 4, torch.empty(2 * width)))

    assert length <= 1 + float(SLACK)
    assert length == 0 or length >= 1 - float(SLACK)
    assert (length == 0) == (slope > 2.0**94)
    assert torch.isfinite(total).all()


def test_scales_of_too_few_bits_would_be_caught():
    """Twin: no bound on the length of a gradient that counts."""
    gradient = torch.full((16384,), 2.0**127 * 0.77)
    scale = 1 / gradient.double().norm()

    assert float((gradient.double() * scale.float().double()).norm()) > 1 + float(SLACK)


@pytest.mark.parametrize(
    "layer", [torch.nn.BatchNorm1d(4), torch.nn.InstanceNorm1d(4), torch.nn.Dropout(0.5)], ids=repr
)
def test_layers_that_mix_rows_or_draw_random_numbers_are_refused(layer):
    with pytest.raises(UnsupportedError):
        ModuleNetwork(torch.nn.Sequential(torch.nn.Linear(4, 4), layer), clip=1.0)


# What is asked of a device


class Mixing(DenseNetwork):
    """Twin: rows less their mean, as batch normalisation has it."""

    def rows(self, inputs, targets):
        return super().rows(inputs - inputs.mean(0), targets)


class Uneven(DenseNetwork):
    """A device that rounds otherwise at two places of a table."""

    def rows(self, inputs, targets):
        parts = super().rows(inputs, targets)
        parts[0] = parts[0].clone()
        parts[0][[2, 5]] *= 1 + 2.0**-20
        return parts


def test_a_network_whose_rows_see_one_another_is_refused():
    with pytest.raises(UnsupportedError, match="depends on the rows beside it"):
        alike(Mixing((3, 2), clip=1.0, block=8, table=8), 3, classes=2)


def test_places_at_which_a_device_rounds_otherwise_are_left_out():
    network = Uneven((3, 2), clip=1.0, block=4, table=8)
    places = alike(network, 3, classes=2)
    inputs, targets = rows_for(3, 20, 1, classes=2)
    all_rows = BlockSums(network, inputs, targets, places=places)(np.arange(20))
    even = DenseNetwork((3, 2), clip=1.0, block=4, table=8)
    expected = BlockSums(even, inputs, targets, places=np.arange(8))(np.arange(20))

    assert len(places) >= 4
    assert not {2, 5} & set(places.tolist())
    assert np.abs(all_rows.numpy() - expected.numpy()).max() < 2**6


def test_products_of_matrices_in_less_than_full_precision_are_refused(monkeypatch):
    close(block=64, bits=24, width=30, device="cpu")
    whole = torch.mm
    monkeypatch.setattr(torch, "mm", lambda a, b: whole(a.bfloat16(), b.bfloat16()).float())

    with pytest.raises(UnsupportedError, match="lose precision"):
        close(block=64, bits=24, width=30, device="cpu")


# Noise


@pytest.mark.statistical
@pytest.mark.parametrize("bands", [1, 3])
def test_what_is_released_is_the_sums_through_the_band_plus_independent_noise(bands):
    """h is recovered from the estimates, exactly; h - a x has the stated variance and no correlation."""
    steps, size = 60, 500
    plan = run(steps=steps, parameters=size, bands=bands, rate=1, noise_multiplier=2)
    sums = torch.from_numpy(np.random.default_rng(1).integers(-LARGE, LARGE, size=(steps, size)) // 2**12)
    with NoisySums(plan, device="cpu", rng=SeededRandom(4)) as noisy:
        estimates = np.array([noisy.release(total).double().numpy() for total in sums]) * 2**POINT
    a = np.array(plan.coefficients, dtype=np.float64)
    off = estimates - sums.numpy()
    noise = np.array([np.convolve(column, a)[:steps] for column in off.T]).T / plan.sigma
    number = steps * size
    spread = 6 * math.sqrt(2 / number)

    assert abs(noise.mean()) < 6 / math.sqrt(number)
    assert abs(noise.var() - 1) < spread + 1e-3
    assert abs((noise[1:] * noise[:-1]).mean()) < 6 / math.sqrt(number - size)
    assert abs((0.9 * noise).var() - 1) > spread + 1e-3  # twin: a tenth less noise


def test_accuracy_bounds_the_noise_of_a_step_and_is_not_loose():
    plan = run(steps=12, parameters=2000, bands=3, rate=1)
    zero = torch.zeros(2000, dtype=torch.int64)
    with NoisySums(plan, device="cpu", rng=SeededRandom(5)) as noisy:
        largest = [float(noisy.release(zero).abs().max()) for _ in range(12)]

    assert np.mean([value > plan.accuracy(0.05) for value in largest]) <= 0.1
    assert max(largest) > 0.6 * plan.accuracy(0.05)
