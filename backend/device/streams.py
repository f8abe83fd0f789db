"""Streams from any library as the driver's handle (code ``R106``)."""

from __future__ import annotations

from ptxspec.diagnostics import LaunchError, Note, fail

from .driver import call, driver


def stream_handle(stream: object) -> int:
    """Handle of ``None`` (the legacy default stream, 0), an int, ``__cuda_stream__``, or a torch or cupy stream."""
    if stream is None:
        return 0
    if isinstance(stream, int) and not isinstance(stream, bool):
        if stream >= 0:
            return stream
    else:
        protocol = getattr(stream, "__cuda_stream__", None)
        if protocol is not None:
            # A method since the protocol's first release; some libraries had it as an attribute.
            answer = protocol() if callable(protocol) else protocol
            if isinstance(answer, tuple) and len(answer) == 2 and answer[0] == 0:
                return int(answer[1])
            raise fail(LaunchError, "R106", f"__cuda_stream__ of {_name(stream)} answered {answer!r}, not (0, handle)")
        for attribute in ("cuda_stream", "ptr"):
            handle = getattr(stream, attribute, None)
            if isinstance(handle, int):
                return handle
    raise fail(
        LaunchError, "R106", f"{stream!r} is no CUDA stream",
        notes=(Note("help", "pass None, a handle as an int, or a stream object of torch, cupy or cuda.core"),),
    )


def wait_for(stream: int, producer: int) -> None:
    """Let what is launched on ``stream`` from now on wait for what ``producer`` holds now (both handles)."""
    if stream == producer or {stream, producer} <= {0, 1}:
        return
    api = driver()
    event = call("cuEventCreate", int(api.CUevent_flags.CU_EVENT_DISABLE_TIMING))
    try:
        call("cuEventRecord", event, api.CUstream(producer))
        call("cuStreamWaitEvent", api.CUstream(stream), event, 0)
    finally:
        call("cuEventDestroy", event)


def synchronize(stream: object = None) -> None:
    """Wait until the stream is empty; a kernel's fault surfaces here as R102."""
    call("cuStreamSynchronize", driver().CUstream(stream_handle(stream)))


def _name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
