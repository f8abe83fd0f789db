"""Arrays of any library as pointer, shape, strides, element type and device."""

from .describe import describe, to_numpy
from .fast import quick
from .view import ITEMSIZE, ArrayView

__all__ = ["ITEMSIZE", "ArrayView", "describe", "quick", "to_numpy"]
