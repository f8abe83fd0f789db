"""The ways in which an argument fails to be an array that can be launched on.

``R120`` no array at all, ``R121`` its exporter failed, ``R122`` an element type that no kernel has, ``R123`` memory
that is neither the host's nor a CUDA device's.
"""

from __future__ import annotations

from ptxspec.diagnostics import LaunchError, Note, PtxspecError, fail

from .view import ITEMSIZE


def not_an_array(value: object) -> PtxspecError:
    """The error for a list, a number and everything else that exports no memory."""
    notes = [Note("note", "taken are NumPy arrays and what has __dlpack__ or __cuda_array_interface__ (torch, cupy)")]
    if isinstance(value, (list, tuple, int, float)):
        notes.append(Note("help", "make it an array first: numpy.asarray(value, dtype=...)"))
    return fail(LaunchError, "R120", f"a {type(value).__name__} is no array", notes=notes)


def exporter_failed(value: object, error: BaseException, how: str) -> PtxspecError:
    """The error for an exporter that raised; its own words are kept."""
    text = str(error).strip().splitlines()
    said = text[0] if text else "no reason given"
    notes = []
    if "grad" in said:
        notes.append(Note("help", "pass tensor.detach()"))
    return fail(
        LaunchError, "R121",
        f"{how} of {_name(value)} failed: {type(error).__name__}: {said}", notes=notes,
    )


def broken_exporter(value: object, what: str) -> PtxspecError:
    """The error for an exporter whose answer breaks its protocol."""
    return fail(LaunchError, "R121", f"{_name(value)} describes its memory wrongly: {what}")


def no_such_dtype(value: object, dtype: str, remedy: str = "") -> PtxspecError:
    """The error for complex numbers, objects, text, dates, other byte orders, packed 4- and 6-bit floats."""
    notes = [Note("note", f"element types are {', '.join(ITEMSIZE)}")]
    if remedy:
        notes.insert(0, Note("help", remedy))
    message = f"elements of type {dtype} ({_name(value)}) have no place in a kernel"
    return fail(LaunchError, "R122", message, notes=notes)


def no_such_device(value: object, device: str) -> PtxspecError:
    """The error for memory of another vendor's device."""
    return fail(LaunchError, "R123", f"{_name(value)} lies on {device}; kernels read host and CUDA memory")


def _name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
