"""The errors of a release as JSON and columns of numbers, and back.

Forms with few parameters are stored as they are.  Any other is tabulated: its bounds at some betas, each of which
holds for every larger beta too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, UnsupportedError, require
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.privacy import event as events
from discreet.release.errors import Adjusted, Bounded, Errors, Independent, SubGaussian, SubGaussianRuns, Unproven
from discreet.release.factorization_errors import LaplaceSums, NormalSums

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Columns = dict[str, npt.NDArray[np.float64]]

BETAS = (0.32, 0.1, 0.05, 0.01, 1e-3, 1e-4, 1e-6, 1e-9)


@dataclass(frozen=True, slots=True, eq=False)
class Tabulated:
    """Bounds at some betas: `alphas` on all errors together and `bars` on each, one row a beta.

    >>> import numpy as np
    >>> Tabulated((0.1, 0.01), (3.0, 5.0), np.array([[1.0, 2.0], [2.0, 3.0]])).accuracy(0.05)
    5.0
    """

    betas: tuple[float, ...]  # falling
    alphas: tuple[float, ...]
    bars: npt.NDArray[np.float64]  # (betas, answers)

    def accuracy(self, beta: float) -> float:
        """The bound at the largest beta of the table that is not larger."""
        return self.alphas[self._place(beta)]

    def each(self, beta: float) -> npt.NDArray[np.float64]:
        """The same for each."""
        return self.bars[self._place(beta)]

    def _place(self, beta: float) -> int:
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        for place, known in enumerate(self.betas):
            if known <= beta:
                return place
        raise UnsupportedError(f"the stored bounds reach down to beta={self.betas[-1]}")


def write(errors: Errors) -> tuple[dict[str, Any], Columns]:
    """The form, and its columns."""
    import numpy as np

    match errors:
        case Independent():
            noise = errors.noise.event().to_dict()
            return {"kind": "independent", "noise": noise, "size": errors.size, "unit": errors.unit}, {}
        case SubGaussian():
            return {"kind": "sub_gaussian"}, {"sd": errors.sd}
        case SubGaussianRuns():
            return {"kind": "sub_gaussian"}, {"sd": np.repeat(errors.sd, errors.runs)}
        case NormalSums():
            spread = errors.sd if errors.runs is None else np.repeat(errors.sd, errors.runs)
            return {"kind": "normal_sums", "sigma": errors.sigma, "draws": errors.draws}, {"sd": spread}
        case LaplaceSums():
            return {"kind": "laplace_sums"}, {"sd": errors.sd, "peak": errors.peak}
        case Adjusted():
            near, spreads = write(errors.noise)
            return {"kind": "adjusted", "noise": near}, spreads | {"unbiased": errors.unbiased}
        case Bounded():
            return {"kind": "bounded", "alpha": errors.alpha, "beta": errors.beta, "size": errors.size}, {}
        case Unproven():
            return {"kind": "unproven", "reason": errors.reason}, {}
        case _:
            return _tabulated(errors)


def _tabulated(errors: Errors) -> tuple[dict[str, Any], Columns]:
    betas, alphas, columns, reason = [], [], {}, "no bound is known"
    for beta in BETAS:
        try:
            alpha, bars = errors.accuracy(beta), errors.each(beta)
        except UnsupportedError as refused:
            reason = str(refused)
            continue
        columns[f"bar{len(betas)}"] = bars
        betas.append(beta)
        alphas.append(float(alpha))
    if not betas:
        return {"kind": "unproven", "reason": reason}, {}
    return {"kind": "tabulated", "betas": betas, "alphas": alphas}, columns


def read(stored: dict[str, Any], columns: Columns) -> Errors:
    """Read back what `write` wrote."""
    import numpy as np

    try:
        match stored:
            case {"kind": "independent", "noise": noise, "size": size, "unit": unit}:
                found = events.from_dict(noise)
                if isinstance(found, events.LaplaceEvent):
                    return Independent(Laplace.with_scale(found.scale, sensitivity=found.sensitivity), size, unit)
                if isinstance(found, events.GaussianEvent):
                    return Independent(Gaussian.with_sigma(found.sigma, sensitivity=found.sensitivity), size, unit)
            case {"kind": "sub_gaussian"}:
                return SubGaussian(columns["sd"])
            case {"kind": "normal_sums", "sigma": sigma, "draws": draws}:
                return NormalSums(columns["sd"], sigma=sigma, draws=draws)
            case {"kind": "laplace_sums"}:
                return LaplaceSums(columns["sd"], columns["peak"])
            case {"kind": "adjusted", "noise": noise}:
                return Adjusted(read(noise, columns), unbiased=columns["unbiased"], answers=columns["answer"])
            case {"kind": "tabulated", "betas": betas, "alphas": alphas}:
                bars = np.stack([columns[f"bar{place}"] for place in range(len(betas))])
                return Tabulated(tuple(betas), tuple(alphas), bars)
            case {"kind": "bounded", "alpha": alpha, "beta": beta, "size": size}:
                return Bounded(alpha, beta, size)
            case {"kind": "unproven", "reason": reason}:
                return Unproven(reason)
    except KeyError as missing:
        raise ParameterError(f"this is not a stored release: its errors lack {missing}") from None
    raise ParameterError("this is not a stored release: its errors are of no known form")
