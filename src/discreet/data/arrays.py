"""One small vocabulary for dense arrays: numpy, PyTorch, CuPy and JAX by the same calls.

Code over a dense universe is written once.  The library is that of the array it is given; noise and answers are
moved between the machine and the device by `to_numpy` and `like`.  JAX arrays cannot be changed in place.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

Array = Any  # an array of any of the libraries


def namespace(array: Array) -> Any:  # noqa: ANN401 - a module
    """The library an array belongs to.

    >>> import numpy as np
    >>> namespace(np.ones(3)).__name__
    'numpy'
    """
    root = type(array).__module__.split(".")[0]
    if root in ("jaxlib", "jax"):
        return importlib.import_module("jax.numpy")
    if root in ("numpy", "torch", "cupy"):
        return importlib.import_module(root)
    raise ParameterError(f"need an array of numpy, torch, cupy or jax, got {type(array).__name__}")


def total(array: Array, axis: int | tuple[int, ...] | None = None) -> Array:
    """The sum over some axes, or over all."""
    library = namespace(array)
    if axis is None:
        return library.sum(array)
    if library.__name__ == "torch":
        return library.sum(array, dim=axis)
    return library.sum(array, axis=axis)


def prefix_sums(array: Array, axis: int) -> Array:
    """Running sums along an axis."""
    library = namespace(array)
    return library.cumsum(array, dim=axis) if library.__name__ == "torch" else library.cumsum(array, axis=axis)


def stack(arrays: Sequence[Array]) -> Array:
    """Flat arrays end to end."""
    library = namespace(arrays[0])
    return library.cat(list(arrays)) if library.__name__ == "torch" else library.concatenate(list(arrays))


def wide(array: Array) -> Array:
    """Integers as 64 bits with a sign, so that sums and differences do not wrap; floats as they are.

    Those that do not fit are the largest that does: no value decides whether a call fails.

    >>> import numpy as np
    >>> wide(np.array([1, 255], dtype=np.uint8)).dtype.name
    'int64'
    """
    library = namespace(array)
    if library.__name__ == "torch":
        return array if array.dtype.is_floating_point else array.to(library.int64)
    if array.dtype.kind == "u" and array.dtype.itemsize == 8:
        array = library.minimum(array, library.uint64((1 << 63) - 1))
    return array if array.dtype.kind == "f" else array.astype(library.int64, copy=False)


def floats(array: Array) -> Array:
    """Integers as floats of 64 bits; floats as they are.

    >>> import numpy as np
    >>> floats(np.array([1, 2])).dtype.name
    'float64'
    """
    library = namespace(array)
    if library.__name__ == "torch":
        return array if array.dtype.is_floating_point else array.to(library.float64)
    return array if array.dtype.kind == "f" else array.astype(library.float64)


def like(values: npt.ArrayLike, array: Array) -> Array:
    """Numbers of this machine as an array of the same library, device and kind of number."""
    import numpy as np

    library = namespace(array)
    if library.__name__ == "torch":
        return library.as_tensor(np.require(values, requirements=["C", "W"]), dtype=array.dtype, device=array.device)
    return library.asarray(values, dtype=array.dtype)


def to_numpy(array: Array) -> npt.NDArray[Any]:
    """The array on this machine."""
    import numpy as np

    library = namespace(array).__name__
    if library == "torch":
        return array.detach().cpu().numpy()
    return array.get() if library == "cupy" else np.asarray(array)


def empty(size: int, *, device: str | None = None, dtype: str = "float64") -> Array:
    """An uninitialised vector: numpy's, or on `device` such as "cuda" PyTorch's, or CuPy's where there is no PyTorch.

    >>> empty(3).shape
    (3,)
    """
    import numpy as np

    if device in (None, "cpu"):
        return np.empty(size, dtype=dtype)
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return importlib.import_module("cupy").empty(size, dtype=dtype)
    return torch.empty(size, dtype=getattr(torch, dtype), device=device)
