"""The compiled loops of running counts.  Imported when one is made: numba takes a moment to load.

The loops over private integers use 64-bit integers only; the ranges that keep them from wrapping are checked from
public numbers where the strategies are made.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np

COARSE = 10  # bits of a buffer that its decay does not look at


def _compiled(signature: str) -> Callable[[Callable[..., float]], Callable[..., float]]:
    """Compiled machine code, kept on disk where a folder can be written."""

    def compiled(function: Callable[..., float]) -> Callable[..., float]:
        try:
            return numba.njit(signature, nogil=True, cache=True)(function)
        except RuntimeError:  # no writable folder for the cache
            return numba.njit(signature, nogil=True)(function)

    return compiled


@_compiled("int64(int64[::1], int64, int64[::1], int64[::1], int64[::1], int64, int64[::1], int64[::1])")
def buffered(steps, unit, adds, slow, shifts, point, buffers, measured):  # noqa: ANN001, ANN201 - typed above
    """measured = unit x + (the sum of the buffers >> point); then every buffer takes adds x and decays."""
    for t in range(steps.size):
        x = steps[t]
        total = 0
        for j in range(buffers.size):
            total += buffers[j]
            grown = buffers[j] + adds[j] * x
            buffers[j] = grown - (((grown >> COARSE) * slow[j]) >> shifts[j])
        measured[t] = unit * x + (total >> point)
    return 0


@_compiled("int64(int64[::1], float64, float64[::1], float64[::1], int64[::1], float64[::1], float64[::1])")
def unbuffered(measured, unit, weights, decays, gains, state, values):  # noqa: ANN001, ANN201 - typed above
    """The inverse filter, then running sums: state is the buffers of the estimates and, last, the running sum."""
    size = weights.size
    for t in range(measured.size):
        known = 0.0
        for j in range(size):
            known += state[j]
        x = (measured[t] - known) / unit
        for j in range(size):
            state[j] = decays[j] * (state[j] + weights[j] * x)
        state[size] += x / gains[t]
        values[t] = state[size]
    return 0


@_compiled("float64(float64, float64[::1], float64[::1], int64[::1], float64[:, ::1])")
def covariance(unit, weights, decays, gains, state):  # noqa: ANN001, ANN201 - typed above
    """The covariance of the state of `unbuffered` moves on, for noise of variance 1; returns the largest variance."""
    size, largest = weights.size, 0.0
    along = np.empty(size)
    for t in range(gains.size):
        total, cross = 1.0, 0.0  # the variance of the noise less what is known; its covariance with the running sum
        for i in range(size):
            along[i] = 0.0
            for j in range(size):
                along[i] += state[i, j]
            total += along[i]
            cross += state[i, size]
        share = 1.0 / (gains[t] * unit)
        state[size, size] += share * (share * total - 2.0 * cross)
        for i in range(size):
            taken = weights[i] / unit
            state[i, size] = decays[i] * (state[i, size] - share * along[i] + taken * (share * total - cross))
            for j in range(size):
                other = weights[j] / unit
                moved = state[i, j] - taken * along[j] - other * along[i] + taken * other * total
                state[i, j] = decays[i] * decays[j] * moved
        largest = max(largest, state[size, size])
    return largest


@_compiled("int64(int64[::1], int64[::1], int64[::1], int64[::1])")
def banded(steps, bands, recent, measured):  # noqa: ANN001, ANN201 - typed above
    """measured = sum of bands[k] x[t - k]; recent holds the last steps, newest first."""
    size = bands.size
    for t in range(steps.size):
        x = steps[t]
        total = bands[0] * x
        for k in range(size - 1, 0, -1):
            total += bands[k] * recent[k - 1]
            recent[k - 1] = recent[k - 2] if k > 1 else x
        measured[t] = total
    return 0


@_compiled("int64(int64[::1], float64[::1], float64[::1], float64[::1])")
def unbanded(measured, bands, state, values):  # noqa: ANN001, ANN201 - typed above
    """The inverse filter, then running sums: state is the last estimates, newest first, and the running sum."""
    size = bands.size
    for t in range(measured.size):
        known = 0.0
        for k in range(1, size):
            known += bands[k] * state[k - 1]
        x = (measured[t] - known) / bands[0]
        for k in range(size - 1, 0, -1):
            state[k - 1] = state[k - 2] if k > 1 else x
        state[size - 1] += x
        values[t] = state[size - 1]
    return 0


@_compiled("int64(int64[::1], int64, int64, int64[::1], int64[::1])")
def nodes(steps, start, branching, opened, measured):  # noqa: ANN001, ANN201 - typed above
    """The sums of the nodes that end at each step, lowest first; opened[l] is the sum so far of the node of level l."""
    found = 0
    for t in range(steps.size):
        ended, level = start + t + 1, 0
        opened[0] += steps[t]
        while True:
            total = opened[level]
            measured[found] = total
            found += 1
            opened[level] = 0
            level += 1
            if level == opened.size:
                break
            opened[level] += total
            if ended % branching != 0:
                break
            ended //= branching
    return found


@_compiled("int64(int64[::1], int64, int64, float64[::1], float64[::1], float64[::1])")
def unnodes(measured, start, branching, shares, done, values):  # noqa: ANN001, ANN201 - typed above
    """The sum of the estimates of the nodes that make up each prefix; done[l]: of level l in the open node above."""
    taken = 0
    for t in range(values.size):
        ended, level, below = start + t + 1, 0, 0.0
        while True:
            own = measured[taken]
            taken += 1
            done[level] += own if level == 0 else shares[level] * own + (1.0 - shares[level]) * below
            level += 1
            if level == done.size or ended % branching != 0:
                break
            below = done[level - 1]
            done[level - 1] = 0.0
            ended //= branching
        values[t] = done.sum()
    return taken


@_compiled("int64(float64[::1], int64[::1], int64[::1], float64[::1])")
def unstepped(measured, lags, changes, sums):  # noqa: ANN001, ANN201 - typed above
    """Running sums of the x with sum over j of changes[j] (x_0 + ... + x_(t - lags[j])) = measured; lags[0] = 0."""
    for t in range(measured.size):
        known = 0.0
        for j in range(1, lags.size):
            if lags[j] > t:
                break
            known += changes[j] * sums[t - lags[j]]
        sums[t] = (measured[t] - known) / changes[0]
    return 0
