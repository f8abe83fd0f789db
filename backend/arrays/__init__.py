"""Arrays of any library as pointer, shape, strides, element type and device."""

from .describe import describe, to_numpy
from .dlpack import dlpack_code
from .fast import quick
from .view import ITEMSIZE, ArrayView

__all__ = ["ITEMSIZE", "ArrayView", "describe", "dlpack_code", "quick", "to_numpy"]
