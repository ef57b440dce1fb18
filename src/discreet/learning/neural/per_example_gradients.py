"""Clipped gradients of every row of a dense network, added up without ever being written down.

The gradient of a row in a layer with inputs a and outputs z is the outer product of delta = dloss/dz with (a, 1).  So
its squared length is |delta|^2 (|a|^2 + 1), and the sum over rows of scale_i delta_i a_i^T is one product of
matrices (Goodfellow 2015; Li, Tramer, Liang, Hashimoto 2022).  No gradient of a row is formed, and the length is exact
up to rounding.

Theorem.  Let scale_i = 1 / max(length_i, clip), computed in 64 bits.  The rows of the sum, as real numbers, are at
most 1 + 2^-20 long, and the computed sum of a block is off by at most b g (1 + 2^-20); see `private_gradients`.
A row whose numbers overflow counts as zero.  Proof: docs/theory/private_gradients.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from discreet.errors import require

if TYPE_CHECKING:
    from torch import Tensor

LARGEST = 2.0**100  # squared length of a row's activations, at most

Activation = Literal["relu", "tanh"]
Loss = Literal["classes", "squares"]


class Gradients(Protocol):
    """What a training run needs of a network."""

    weights: Tensor  # (parameters,) of 32 bits: public
    block: int  # rows that are added up in floating point
    table: int  # rows that are computed together: some blocks

    def rows(self, inputs: Tensor, targets: Tensor) -> list[Tensor]:
        """What the sum is made of, a row for each row; the last one is the scales."""
        ...

    def sums(self, parts: list[Tensor], count: int, into: Tensor) -> Iterator[Tensor]:
        """Write the sum of every block up to place `count`, in clipping lengths, one after another `into` a vector."""
        ...

    def outputs(self, inputs: Tensor) -> Tensor:
        """What the network makes of rows."""
        ...


class DenseNetwork:
    """Layers of the given widths, their weights in one vector.

    >>> import torch
    >>> network = DenseNetwork((3, 4, 2), clip=1.0, block=8, table=16)
    >>> parts = network.rows(torch.ones(16, 3), torch.zeros(16, dtype=torch.int64))
    >>> [bool(total.norm() <= 8) for total in network.sums(parts, 16, torch.empty(26))]
    [True, True]
    """

    def __init__(
        self,
        widths: Sequence[int],
        *,
        clip: float,
        loss: Loss = "classes",
        activation: Activation = "relu",
        block: int = 64,
        table: int = 64,
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        import torch

        require(len(widths) >= 2 and all(width >= 1 for width in widths), "widths of at least 1", widths=tuple(widths))
        require(table % block == 0, "a table of whole blocks", table=table, block=block)
        self.clip, self.loss, self.activation, self.block, self.table = clip, loss, activation, block, table
        shapes = list(zip(widths[1:], widths[:-1], strict=True))
        generator = torch.Generator().manual_seed(seed)  # where training starts is public
        parts = []
        for outputs, inputs in shapes:
            parts.append(torch.randn(outputs * inputs, generator=generator) * math.sqrt(2 / (inputs + outputs)))
            parts.append(torch.zeros(outputs))
        self.weights = torch.cat(parts).to(device)
        self._shapes = shapes
        self._layers = self._views(self.weights)

    def _views(self, flat: Tensor) -> list[tuple[Tensor, Tensor]]:
        """The matrix and the vector of every layer, inside a flat one."""
        views, place = [], 0
        for outputs, inputs in self._shapes:
            middle, end = place + outputs * inputs, place + outputs * inputs + outputs
            views.append((flat[place:middle].view(outputs, inputs), flat[middle:end]))
            place = end
        return views

    def _forward(self, inputs: Tensor) -> list[Tensor]:
        """The inputs of every layer, and the outputs of the last."""
        import torch

        values = [inputs]
        for place, (matrix, vector) in enumerate(self._layers):
            z = torch.addmm(vector, values[-1], matrix.t())
            if place < len(self._layers) - 1:
                z = z.relu_() if self.activation == "relu" else z.tanh_()
            values.append(z)
        return values

    def outputs(self, inputs: Tensor) -> Tensor:
        """What the last layer makes of rows."""
        return self._forward(inputs)[-1]

    def rows(self, inputs: Tensor, targets: Tensor) -> list[Tensor]:
        """Inputs of every layer, then deltas of every layer, then the scales; a row depends on that row alone."""
        import torch

        *values, z = self._forward(inputs)
        if self.loss == "classes":
            delta = torch.softmax(z, dim=1)
            delta[torch.arange(len(z), device=z.device), targets] -= 1
        else:
            delta = z - targets[:, None]
        deltas = [delta]
        for place in range(len(values) - 1, 0, -1):
            back = deltas[0] @ self._layers[place][0]
            slope = values[place] > 0 if self.activation == "relu" else 1 - values[place].square()
            deltas.insert(0, back.mul_(slope))
        square = torch.zeros(len(z), dtype=torch.float64, device=z.device)
        size = torch.zeros_like(square)
        for value, change in zip(values, deltas, strict=True):
            add_squares(value, change, size, square)
        scale = 1 / square.sqrt().clamp_(min=self.clip)
        return without_overflow([*values, *deltas, scale], square.isfinite() & (size <= LARGEST))

    def sums(self, parts: list[Tensor], count: int, into: Tensor) -> Iterator[Tensor]:
        """The sums of the clipped gradients of every block, in clipping lengths, in the precision of `into`."""
        import torch

        layers, kind, factor, totals = len(self._layers), into.dtype, parts[-1][:, None], self._views(into)
        values, scaled = parts[:layers], [(change * factor).to(kind) for change in parts[layers:-1]]
        for start in range(0, count, self.block):
            rows = slice(start, start + self.block)
            for value, change, (matrix, vector) in zip(values, scaled, totals, strict=True):
                torch.mm(change[rows].t(), value[rows].to(kind), out=matrix)
                torch.sum(change[rows], 0, out=vector)
            yield into


def without_overflow(parts: list[Tensor], counts: Tensor) -> list[Tensor]:
    """The same with zeros in the rows that do not count, so that 0 times infinity is nowhere computed."""
    import torch

    if not counts.is_cuda and bool(counts.all()):
        return parts
    return [torch.where(counts.view(-1, *[1] * (part.ndim - 1)), part, 0.0) for part in parts]


def add_squares(value: Tensor, change: Tensor, size: Tensor, square: Tensor) -> None:
    """Add what a layer adds to the squared lengths of activations and of gradients, row by row, in 64 bits."""
    if value.is_cuda:
        long = value.double().square().sum(1)
        size += long
        square += change.double().square().sum(1) * (long + 1)
        return
    from discreet.learning.neural.kernels import row_squares

    row_squares(value.numpy(), change.numpy(), size.numpy(), square.numpy())
