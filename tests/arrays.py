"""PyTorch for the tests of array code; where it could not be installed these tests are skipped, and say so."""

from __future__ import annotations

import importlib
from typing import Any

import pytest


class _Missing:
    def __getattr__(self, name: str) -> Any:
        pytest.skip("PyTorch is NOT installed: the array code was not tested on it", allow_module_level=True)


try:
    torch: Any = importlib.import_module("torch")
except ImportError:
    torch = _Missing()
