"""Pictures of tables as inline SVG: bars, heat maps and curves, in the colours of the page around them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers = npt.NDArray[np.float64]

BARS = 128  # of one picture, at most; neighbouring values are put together
GRID = 40  # cells of a heat map of a table, in each direction


def figure(picture: str, caption: str, *, wide: bool = False) -> str:
    """A picture with its caption."""
    kind = ' class="wide"' if wide else ""
    return f"<figure{kind}>{picture}<figcaption>{escape(caption)}</figcaption></figure>"


def bars(values: Numbers, dots: Numbers | None, labels: Sequence[str]) -> str:
    """A bar for each value, and a dot where something else is compared with it.

    >>> import numpy as np
    >>> bars(np.array([3.0, 1.0]), None, ["<a>", "b"]).count("<rect")
    2
    """
    import numpy as np

    shares = [_merged(np.asarray(one, dtype=np.float64), BARS, 0) for one in (values, dots) if one is not None]
    count = len(shares[0])
    names = list(labels) if count == len(labels) else [str(place + 1) for place in range(count)]
    top = max(float(one.max()) for one in shares) or 1.0
    width = 220 / count
    made = []
    for place, (height, name) in enumerate(zip((shares[0] / top).tolist(), names, strict=True)):
        tall = 80 * max(0.0, height)
        made.append(
            f'<rect class="bar" x="{10 + place * width:.2f}" y="{90 - tall:.2f}" width="{max(0.3, 0.9 * width):.2f}"'
            f' height="{tall:.2f}"><title>{escape(name)}: {shares[0][place]:.4g}</title></rect>'
        )
    for place, height in enumerate((shares[1] / top).tolist() if len(shares) > 1 else []):
        at = 90 - 80 * max(0.0, height)
        made.append(f'<circle class="dot" cx="{10 + (place + 0.45) * width:.2f}" cy="{at:.2f}" r="1.6"/>')
    axis = '<line class="axis" x1="10" y1="90" x2="230" y2="90"/>'
    ends = f'<text x="10" y="102">{escape(_short(names[0]))}</text>'
    ends += f'<text x="230" y="102" text-anchor="end">{escape(_short(names[-1]))}</text>' if count > 1 else ""
    return f'<svg viewBox="0 0 240 106" role="img">{"".join(made)}{axis}{ends}</svg>'


def association(matrix: Numbers, names: Sequence[str]) -> str:
    """A heat map of numbers from 0 to 1 between columns."""
    count = len(names)
    size = 300 / max(1, count)
    made = []
    for row in range(count):
        for column in range(count):
            value = float(matrix[row, column])
            said = f"{escape(names[row])}, {escape(names[column])}: {value:.2f}"
            made.append(
                f'<rect class="cell" x="{100 + column * size:.2f}" y="{10 + row * size:.2f}" width="{size:.2f}"'
                f' height="{size:.2f}" fill-opacity="{min(1.0, max(0.0, value)):.3f}"><title>{said}</title></rect>'
            )
        if count <= 40:
            at = 10 + (row + 0.5) * size + 3
            made.append(f'<text x="96" y="{at:.2f}" text-anchor="end">{escape(_short(names[row]))}</text>')
    frame = '<rect class="axis" x="100" y="10" width="300" height="300" fill="none"/>'
    return f'<svg viewBox="0 0 410 320" role="img">{"".join(made)}{frame}</svg>'


def joint(table: Numbers) -> str:
    """A heat map of a table of two columns, the square root of each share as darkness."""
    import numpy as np

    merged = _merged(_merged(np.maximum(np.asarray(table, dtype=np.float64), 0), GRID, 0), GRID, 1)
    dark = np.sqrt(merged / (merged.max() or 1.0))
    rows, columns = dark.shape
    wide, tall = 220 / columns, 160 / rows
    made = [
        f'<rect class="cell" x="{10 + column * wide:.2f}" y="{10 + row * tall:.2f}" width="{wide:.2f}"'
        f' height="{tall:.2f}" fill-opacity="{dark[row, column]:.3f}"/>'
        for row in range(rows)
        for column in range(columns)
        if dark[row, column] >= 0.005
    ]
    frame = '<rect class="axis" x="10" y="10" width="220" height="160" fill="none"/>'
    return f'<svg viewBox="0 0 240 180" role="img">{"".join(made)}{frame}</svg>'


def cumulative(curves: Sequence[Numbers]) -> str:
    """The share of values at most x, for two samples: the first as a filled step, the second as a line."""
    import numpy as np

    top = max(float(one.max()) for one in curves) or 1.0
    grid = np.linspace(0, top, 100)
    made = []
    for place, one in enumerate(curves):
        share = np.searchsorted(np.sort(one), grid, side="right") / len(one)
        points = " ".join(
            f"{10 + 380 * x / top:.1f},{130 - 115 * y:.1f}" for x, y in zip(grid.tolist(), share.tolist(), strict=True)
        )
        kind = "step" if place else "curve"
        style = "" if place else ' style="stroke: var(--mark); fill: none; stroke-width: 1.5"'
        made.append(f'<polyline class="{kind}"{style} points="{points}"/>')
    axis = '<line class="axis" x1="10" y1="130" x2="390" y2="130"/><text x="10" y="144">0</text>'
    return (
        f'<svg viewBox="0 0 400 150" role="img">{axis}<text x="390" y="144" text-anchor="end">{top:.3g}</text>'
        f"{''.join(made)}</svg>"
    )


def _merged(values: Numbers, most: int, axis: int) -> Numbers:
    """Sums over neighbours, so that at most that many are left along the axis."""
    import numpy as np

    count = values.shape[axis]
    if count <= most:
        return values
    return np.add.reduceat(values, np.arange(most) * count // most, axis=axis)


def _short(name: str) -> str:
    return name if len(name) <= 18 else f"{name[:17]}..."
