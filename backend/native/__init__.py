"""Checked calls handed to the driver by a small C extension, where it was built; without it the same is done in Python.

The extension only compares and launches. Whatever differs from a call that passed every check it leaves to the Python
path, so it accepts nothing that the Python path would refuse, and says nothing itself. ``PTXSPEC_NATIVE=off`` leaves it
out.
"""

from .calls import Array, Remembered, Scalar, available

__all__ = ["Array", "Remembered", "Scalar", "available"]
