"""Clipped gradients of every row of any PyTorch module, one gradient a row.

The gradient of the loss of one row with respect to all weights that are trained is computed for a table of rows at once
(`torch.func`).  Weights that layers share are one weight and have one gradient; frozen weights have none.  Lengths and
scales are those of `per_example_gradients`, and so is the theorem; a row whose gradient is longer than 2^100 counts as
zero.  A module that mixes the rows of a table (batch normalisation) or draws random numbers (dropout) is refused.  A
module may keep what it sees: one that `rows` was called on has seen private rows, and is not handed out.  Proof:
docs/theory/private_gradients.md.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from discreet.errors import UnsupportedError, require
from discreet.learning.neural.per_example_gradients import Loss, without_overflow

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

LARGEST = 2.0**200  # squared length of a gradient that counts, so that its scale keeps all bits of a 32-bit number


class ModuleNetwork:
    """A module that turns a row of numbers into one number a class, or into one number.

    >>> import torch
    >>> network = ModuleNetwork(torch.nn.Linear(3, 2), clip=1.0, block=4, table=4)
    >>> parts = network.rows(torch.ones(4, 3), torch.zeros(4, dtype=torch.int64))
    >>> len(network.weights), [bool(total.norm() <= 4) for total in network.sums(parts, 4, torch.empty(8))]
    (8, [True])
    """

    def __init__(
        self,
        module: Module,
        *,
        clip: float,
        loss: Loss = "classes",
        block: int = 64,
        table: int = 64,
        device: str = "cpu",
    ) -> None:
        import torch

        self._module = copy.deepcopy(module).to(device).eval()  # the caller's stays as it is
        refuse_mixing(module)
        trained = {name: weight for name, weight in self._module.named_parameters() if weight.requires_grad}
        require(bool(trained), "a module with weights to train", trained=len(trained))
        if any(weight.dtype != torch.float32 for weight in trained.values()):
            raise UnsupportedError("weights of 32 bits are trained: call module.float() first")
        self._rest = {
            name: value.detach()
            for name, value in [*self._module.named_parameters(), *self._module.named_buffers()]
            if name not in trained
        }
        self.weights = torch.cat([weight.detach().reshape(-1) for weight in trained.values()])
        self._shapes = {name: weight.shape for name, weight in trained.items()}
        self.clip, self.loss, self.block, self.table = clip, loss, block, table

    def _named(self, flat: Tensor) -> dict[str, Tensor]:
        sizes = [shape.numel() for shape in self._shapes.values()]
        return {
            name: part.view(shape) for (name, shape), part in zip(self._shapes.items(), flat.split(sizes), strict=True)
        }

    def outputs(self, inputs: Tensor) -> Tensor:
        """What the module makes of rows: a copy of it, so that nothing of them stays here."""
        functional_call, _, _ = transforms()
        return functional_call(copy.deepcopy(self._module), self._named(self.weights), (inputs,)).detach()

    def rows(self, inputs: Tensor, targets: Tensor) -> list[Tensor]:
        """The gradient of every row, then the scales."""
        import torch

        functional_call, grad, vmap = transforms()

        def loss(flat: Tensor, row: Tensor, target: Tensor) -> Tensor:
            out = functional_call(self._module, {**self._named(flat), **self._rest}, (row[None],))
            if self.loss == "classes":
                return torch.nn.functional.cross_entropy(out, target[None])
            return (out.reshape(()) - target).square() / 2

        gradients = vmap(grad(loss), in_dims=(None, 0, 0), randomness="error")(self.weights, inputs, targets)
        square = gradients.double().square().sum(1)
        return without_overflow([gradients, 1 / square.sqrt().clamp_(min=self.clip)], square <= LARGEST)

    def sums(self, parts: list[Tensor], count: int, into: Tensor) -> Iterator[Tensor]:
        """The sums of the clipped gradients of every block, in clipping lengths, in the precision of `into`."""
        import torch

        gradients, scale = parts[0], parts[1].to(into.dtype)
        for start in range(0, count, self.block):
            rows = slice(start, start + self.block)
            yield torch.mv(gradients[rows].t().to(into.dtype), scale[rows], out=into)


@lru_cache(maxsize=1)
def transforms() -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """functional_call, grad and vmap of PyTorch; what they import for the first time may warn of its own age."""
    import importlib
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        importlib.import_module("torch.fx.experimental.symbolic_shapes")
        from torch.func import functional_call, grad, vmap
    return functional_call, grad, vmap


def refuse_mixing(module: Module) -> None:
    """Refuse layers whose result for a row depends on other rows, or on chance."""
    from torch.nn.modules.batchnorm import _NormBase
    from torch.nn.modules.dropout import _DropoutNd

    for layer in module.modules():
        name = type(layer).__name__
        if isinstance(layer, _NormBase):
            raise UnsupportedError(f"{name} keeps statistics over rows; take GroupNorm or LayerNorm instead")
        if isinstance(layer, _DropoutNd) and layer.p > 0:
            raise UnsupportedError(f"{name} draws random numbers that are not accounted for; leave it out")
