"""How near synthetic rows come to private ones, against how near strangers come.  Private.

The private rows are split into halves.  The distance of a row to the nearest of the first half is taken for synthetic
rows and for rows of the second half: a synthesizer that copies has synthetic rows nearer than strangers.  Between
two rows it is the sum over columns of |a - b| / (values - 1) for ordered columns and of [a != b] for the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.data.records import Records
from discreet.synthesis.resolution import ordered

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers = npt.NDArray[np.float64]

COMPARED = 1000  # rows whose nearest is looked for
AMONG = 10_000  # private rows among which it is
CHUNK = 50  # rows at a time, which bounds the memory


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Nearness:
    """Distances to the nearest private row."""

    synthetic: Numbers
    strangers: Numbers

    def lines(self) -> list[tuple[str, float, float, float]]:
        """The share of identical rows, and the distances of the nearest twentieth and half."""
        import numpy as np

        return [
            (
                name,
                float(np.mean(found == 0)),
                float(np.quantile(found, 0.05)),
                float(np.quantile(found, 0.5)),
            )
            for name, found in (("synthetic", self.synthetic), ("strangers", self.strangers))
        ]


def nearness(drawn: Records, rows: Records, *, seed: int = 0) -> Nearness:
    """Both samples of distances."""
    import numpy as np

    rng = np.random.default_rng(seed)
    order = rng.permutation(len(rows))
    half = len(rows) // 2
    among = _positions(rows, order[:half][:AMONG])
    strangers = _positions(rows, order[half:][:COMPARED])
    synthetic = _positions(drawn, rng.permutation(len(drawn))[:COMPARED])
    in_order = np.array([ordered(declared) for declared in rows.domain.values()])
    widths = np.array([max(1, declared.size - 1) for declared in rows.domain.values()], dtype=np.float64)
    return Nearness(
        synthetic=_nearest(synthetic, among, in_order, widths), strangers=_nearest(strangers, among, in_order, widths)
    )


def _positions(rows: Records, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    import numpy as np

    return np.stack([rows.column(name)[places].astype(np.int32) for name in rows.domain], axis=1)


def _nearest(
    rows: npt.NDArray[np.int32],
    among: npt.NDArray[np.int32],
    in_order: npt.NDArray[np.bool_],
    widths: Numbers,
) -> Numbers:
    import numpy as np

    found = np.empty(len(rows))
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        far = np.zeros((len(part), len(among)), dtype=np.float32)
        for column in range(rows.shape[1]):
            apart = np.abs(part[:, column, None] - among[None, :, column])
            far += apart / np.float32(widths[column]) if in_order[column] else apart != 0
        found[start : start + CHUNK] = far.min(axis=1)
    return found
