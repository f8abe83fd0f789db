"""Files as modules; device arrays from NumPy ones and back, for torch and cupy."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np


def load(path: Path) -> ModuleType:
    """A Python file as a module of its own."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def to_device(library: ModuleType, array: np.ndarray) -> Any:
    """A device copy that owns its memory."""
    if library.__name__ == "torch":
        return library.from_numpy(array.copy()).cuda()
    return library.asarray(array)


def to_host(library: ModuleType, array: Any) -> np.ndarray:
    """The values; waits for what is queued."""
    if library.__name__ == "torch":
        library.cuda.synchronize()
        return np.asarray(array.cpu().numpy())
    library.cuda.Device().synchronize()
    return np.asarray(library.asnumpy(array))
