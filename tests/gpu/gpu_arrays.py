"""Device arrays from NumPy ones and back, for torch and cupy."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np


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
