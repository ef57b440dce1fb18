"""What the proof asks of a device, looked at before training on it.

    alike   a row gives the same bits at all these places of a table, whatever the other rows are
    close   a sum of products is off by at most b u / (1 - b u) times the sum of their sizes (Higham 2002)

Which instructions a product of matrices runs depends on the shapes and not on the numbers, so that a few made-up rows
show it.  Proof that this is enough: docs/theory/private_gradients.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import UnsupportedError
from discreet.learning.neural.per_example_gradients import Gradients

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from torch import Generator, Tensor

PROBES = 8  # rows that are put at all places


def alike(network: Gradients, width: int, *, classes: int = 0, seed: int = 1) -> npt.NDArray[np.int64]:
    """The places of a table at which a row gives the same bits, the most there are; no classes: targets are numbers.

    >>> from discreet.learning.neural.per_example_gradients import DenseNetwork
    >>> len(alike(DenseNetwork((3, 2), clip=1.0, block=8, table=16), 3, classes=2)) >= 8
    True
    """
    import numpy as np
    import torch

    device, size = network.weights.device, network.table
    generator = torch.Generator().manual_seed(seed)
    seen = []
    for _ in range(PROBES):
        row = torch.randn(1, width, generator=generator).expand(size, width).contiguous()
        target = _targets(1, classes, generator).expand(size).contiguous()
        parts = network.rows(row.to(device), target.to(device))
        seen += [np.ascontiguousarray(part.cpu().numpy()).view(np.uint8).reshape(size, -1) for part in parts]
    groups: dict[bytes, list[int]] = {}
    for place, bits in enumerate(np.concatenate(seen, axis=1)):
        groups.setdefault(bits.tobytes(), []).append(place)
    places = np.array(max(groups.values(), key=len))
    rows, targets = torch.randn(size, width, generator=generator), _targets(size, classes, generator)
    turned = np.arange(size)
    turned[places] = np.roll(places, 1)
    first = network.rows(rows.to(device), targets.to(device))
    second = network.rows(rows[turned].to(device), targets[turned].to(device))
    same = all(torch.equal(a[turned[places]], b[places]) for a, b in zip(first, second, strict=True))
    if not same or 2 * len(places) < size:
        raise UnsupportedError(
            "on this device the gradient of a row depends on the rows beside it, and cannot be clipped with proof;"
            " take a module that treats rows one by one, or another device"
        )
    return places


def _targets(count: int, classes: int, generator: Generator) -> Tensor:
    import torch

    if classes:
        return torch.randint(classes, (count,), generator=generator)
    return torch.randn(count, generator=generator)


def close(*, block: int, bits: int, width: int, device: str, seed: int = 2) -> None:
    """Refuse a device whose products of matrices are less precise than their numbers."""
    import torch

    kind = torch.float64 if bits == 53 else torch.float32
    generator = torch.Generator().manual_seed(seed)
    left, right = (torch.randn(block, size, generator=generator, dtype=kind) for size in (16, width))
    made = torch.mm(left.to(device).t(), right.to(device)).cpu()
    exact = left.double().t() @ right.double()
    roundoff = block * 2.0**-bits
    bound = roundoff / (1 - roundoff) * (left.double().abs().t() @ right.double().abs())
    slack = 2 * block * 2.0**-53 * bound.max() / roundoff  # of the comparison itself
    if not bool(((made.double() - exact).abs() <= bound + slack).all()):
        raise UnsupportedError(
            f"products of matrices of {kind} lose precision here (set_float32_matmul_precision is not 'highest'?);"
            " the sensitivity is proven for full precision"
        )
