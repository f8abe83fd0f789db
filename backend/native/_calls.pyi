"""The C extension's two names; see the comment of _calls.c for the tuples."""

FORM: int

class Calls:
    """The checked calls of one kernel; ``launch`` and ``current`` are addresses of two driver functions."""

    def __new__(cls, launch: int, current: int, /) -> Calls: ...
    def launch(self, arguments: tuple[object, ...], stream: int | None, /) -> bool:
        """Launch if exactly this was remembered; False asks for the Python path. Never raises for its arguments."""
    def remember(
        self, kernel: int, context: int, config: int, keep: object,
        arguments: tuple[tuple[object, ...], ...], parameters: tuple[tuple[int, str, int], ...], /,
    ) -> bool:
        """Keep a call; False where it has too many arguments."""
