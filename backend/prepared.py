"""``exe.bind(...)``: a call whose arguments were checked, ready to be launched again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .arrays import ArrayView, quick
from .checks import Bound

if TYPE_CHECKING:
    from .device import PreparedLaunch
    from .executable import Executable


class PreparedCall:
    """The arguments of one call, held; calling it launches on them.

    Arrays of torch and cupy are compared with their first check at each launch, since a tensor may get another storage;
    memory that a DLPack capsule holds cannot change and costs nothing. What is neither is checked as in ``exe(...)``.
    Work that other streams do on the arrays after ``bind`` is not waited for.
    """

    def __init__(self, executable: Executable, arguments: tuple[object, ...], stream: int | None) -> None:
        self.executable = executable
        self.arguments = arguments
        self._stream = stream
        self._native: Callable[[tuple[object, ...], int | None], bool] | None = None
        self._direct: Callable[[], bool] | None = None

    def __repr__(self) -> str:
        return f"<prepared call of {self.executable!r}>"

    def __call__(self) -> None:
        """Launch (host arrays: simulate) with every check that the memory can have outlived."""
        if self._native is not None and self._native(self.arguments, self._stream):
            return
        if self._direct is not None and self._direct():
            return
        self.executable(*self.arguments, stream=self._stream)

    def ready(self, bound: Bound, numbers: list[int | float | bool], launch: PreparedLaunch,
              native: Callable[[tuple[object, ...], int | None], bool] | None) -> None:
        """Take the quick ways that this checked call allows."""
        self._native = native
        arrays = [value for value in bound.values if isinstance(value, ArrayView)]
        seen = [(argument, quick(argument)) for argument in self.arguments]
        known = [(argument, look) for argument, look in seen if look is not None]
        pinned = [view for view in arrays if view.pinned]
        if not pinned or len(known) + len(pinned) < len(arrays) or any(v.producer_stream is not None for v in arrays):
            return
        stream = self._stream or 0

        def direct() -> bool:
            if any(quick(argument) != look for argument, look in known):
                return False
            launch.launch(numbers, stream)
            return True

        self._direct = direct
