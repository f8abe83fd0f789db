"""The simulator: runs emitted PTX text on NumPy arrays, for all threads at once, and reports what goes wrong where."""

from __future__ import annotations

from .faults import Fault, SimulationFault
from .launch import Argument, PointerArgument, RunResult, ScalarArgument, simulate

__all__ = ["Argument", "Fault", "PointerArgument", "RunResult", "ScalarArgument", "SimulationFault", "simulate"]
