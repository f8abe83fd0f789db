"""Timing on the GPU: contestants on the same work in one run, event-timed, taken in turns; results checked first."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

ROUNDS = 9
# What a queue of launches is given, in GPU cycles each, before the first of them may start.
_CYCLES_A_LAUNCH = 200_000


class NoGpuError(RuntimeError):
    """No CUDA device, so nothing was measured."""


@dataclass(frozen=True)
class Contestant:
    """``launch`` enqueues the work once on the default stream; ``ours`` marks ptxspec's."""

    name: str
    launch: Callable[[], object]
    ours: bool = False


def require_gpu() -> None:
    """Raise :class:`NoGpuError` where there is none."""
    if not torch.cuda.is_available():
        raise NoGpuError("no CUDA device on this machine; nothing measured")


def random_bits(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Fresh random bits of any element type. NaN patterns of floats are made finite, so that values compare too."""
    size = torch.empty((), dtype=dtype).element_size()
    count = 1
    for extent in shape:
        count *= extent
    if dtype == torch.float32:
        return torch.rand(shape, device="cuda", dtype=dtype)
    raw = torch.randint(-(2**31), 2**31 - 1, ((count * size + 3) // 4,), device="cuda", dtype=torch.int32)
    return raw.view(torch.uint8)[: count * size].view(dtype).reshape(shape)


def poison(tensor: torch.Tensor) -> None:
    """Fill with a pattern that the input does not hold."""
    tensor.view(torch.uint8).fill_(0xA5) if tensor.is_contiguous() else tensor.fill_(-1)


def same_bits(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Equal byte for byte."""
    left, right = left.contiguous(), right.contiguous()
    return torch.equal(left.view(torch.uint8).reshape(-1), right.view(torch.uint8).reshape(-1))


def checked(contestant: Contestant, out: torch.Tensor, expected: torch.Tensor) -> str:
    """Run once into a poisoned output and compare; empty when right, otherwise what is wrong."""
    poison(out)
    torch.cuda.synchronize()
    try:
        contestant.launch()
        torch.cuda.synchronize()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"
    return "" if same_bits(out, expected) else "wrong result"


class Median(float):
    """The median of several rounds; ``spread`` is the range of the middle half of them, as a part of it."""

    spread: float

    @classmethod
    def of(cls, values: list[float]) -> Median:
        """Of at least one value."""
        found = cls(statistics.median(values))
        low, _, high = statistics.quantiles(values, n=4) if len(values) > 1 else (found, found, found)
        found.spread = (high - low) / found
        return found


def race(contestants: list[Contestant], rounds: int = ROUNDS, longest: int = 40) -> dict[str, Median]:
    """Median milliseconds of one launch of each, the order rotating from round to round."""
    inner = {}
    for contestant in contestants:
        for _ in range(2):
            contestant.launch()
        torch.cuda.synchronize()
        begun = time.perf_counter()
        contestant.launch()
        torch.cuda.synchronize()
        taken = time.perf_counter() - begun
        inner[contestant.name] = max(1, min(longest, int(2e-3 / max(taken, 1e-6)) + 1))
    times: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for turn in range(rounds):
        at = turn % len(contestants)
        for contestant in contestants[at:] + contestants[:at]:
            count = inner[contestant.name]
            # The GPU waits while the launches are queued, so that host time does not show.
            torch.cuda._sleep(_CYCLES_A_LAUNCH * count)
            start.record()
            for _ in range(count):
                contestant.launch()
            stop.record()
            stop.synchronize()
            times[contestant.name].append(start.elapsed_time(stop) / count)
    return {name: Median.of(values) for name, values in times.items()}


def compete(
    contestants: list[Contestant],
    out: torch.Tensor,
    expected: torch.Tensor,
    remark: Callable[[str], None],
    rounds: int = ROUNDS,
) -> dict[str, Median]:
    """Check every contestant, leave out (with a remark) those that fail, and time the rest, in milliseconds."""
    sound = []
    for contestant in contestants:
        wrong = checked(contestant, out, expected)
        if wrong:
            remark(f"{contestant.name} left out: {wrong}")
        else:
            sound.append(contestant)
    return race(sound, rounds) if sound else {}


def final(contestants: list[Contestant], times: dict[str, Median], groups: list[str], most: int = 3,
          rounds: int = 31) -> dict[str, Median]:
    """A second race among the ``most`` fastest of each group (a prefix of their names), with more rounds: so no row
    rests on which of many contestants was lucky in the first."""
    ahead = sorted((c for c in contestants if c.name in times), key=lambda c: times[c.name])
    chosen = [c for group in groups for c in [c for c in ahead if c.name.startswith(group)][:most]]
    return race(chosen, rounds)


def fastest(times: dict[str, Median], prefix: str) -> str:
    """The fastest whose name begins so; empty where there is none."""
    return min((name for name in times if name.startswith(prefix)), key=lambda name: times[name], default="")
