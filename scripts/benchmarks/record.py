"""What a benchmark reports, and how it is kept: rows with ratios, as JSON and as a Markdown page."""

from __future__ import annotations

import datetime
import json
import os
import platform
import sys
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "benchmarks"

# Distributions whose version matters to a figure; the ones that are not installed are left out.
VERSIONED = (
    "ptxspec", "z3-solver", "numpy", "nvidia-nvjitlink", "cuda-bindings", "cuda-core",
    "torch", "cupy-cuda13x", "triton", "numba", "numba-cuda", "apache-tvm-tirx", "warp-lang",
)


@dataclass(frozen=True)
class Row:
    """One measured line.

    ``value`` is ours in ``unit``. ``other`` is what it is compared with (named by ``against``), in the same unit;
    ``budget`` a limit in the same unit. ``lower`` says that smaller is better. ``note`` is for what a reader must know.
    """

    what: str
    value: float | None
    unit: str
    against: str = ""
    other: float | None = None
    budget: float | None = None
    lower: bool = True
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times better than the other side; above 1 ours is ahead."""
        if not self.value or not self.other:
            return None
        return self.other / self.value if self.lower else self.value / self.other

    @property
    def met(self) -> bool | None:
        """Whether the budget holds, or ``None`` where there is none."""
        if self.budget is None or self.value is None:
            return None
        return self.value <= self.budget if self.lower else self.value >= self.budget


@dataclass
class Result:
    """The rows of one benchmark with everything needed to read them later."""

    name: str
    title: str
    method: str
    rows: list[Row] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    machine: dict[str, str] = field(default_factory=dict)
    date: str = ""

    def add(self, what: str, value: float | None, unit: str, **more: object) -> Row:
        """Append a row, and print it at once."""
        row = Row(what, value, unit, **more)  # type: ignore[arg-type]
        self.rows.append(row)
        print("  " + line(row), flush=True)
        return row

    def remark(self, text: str) -> None:
        """Append a sentence to the page, and print it."""
        self.remarks.append(text)
        print("  note: " + text, flush=True)


def versions() -> dict[str, str]:
    """Installed versions of what can influence a figure."""
    found = {"python": platform.python_version()}
    for name in VERSIONED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    if "ptxspec" not in found:
        from ptxspec import __version__

        found["ptxspec"] = __version__
    return found


def _processor() -> str:
    try:
        for text in Path("/proc/cpuinfo").read_text().splitlines():
            if text.startswith("model name"):
                return text.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def machine() -> dict[str, str]:
    """Processor, load, system, and the GPU when torch sees one (torch is asked only if it is loaded already)."""
    found = {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.machine()}",
        "load at the end": f"{os.getloadavg()[0]:.1f}",
    }
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        properties = torch.cuda.get_device_properties(0)
        sms, cache = properties.multi_processor_count, properties.L2_cache_size >> 20
        found["gpu"] = f"{properties.name}, {sms} multiprocessors, L2 {cache} MiB"
    return found


def number(value: float | None) -> str:
    """A figure with about four digits."""
    if value is None:
        return "-"
    if value and abs(value) < 0.01:
        return f"{value:.3g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def line(row: Row) -> str:
    """One row for the terminal."""
    text = f"{row.what}: {number(row.value)} {row.unit}"
    if row.other is not None:
        ratio = f" ({row.ratio:.3g} x)" if row.ratio else ""
        text += f"; {row.against} {number(row.other)} {row.unit}{ratio}"
    elif row.against:
        text += f"; {row.against}: absent"
    if row.budget is not None:
        text += f"; budget {number(row.budget)} {'met' if row.met else 'MISSED'}"
    return text + (f" [{row.note}]" if row.note else "")


def markdown(result: Result) -> str:
    """The page of one benchmark."""
    out = [f"# {result.title}", "", result.method, ""]
    out += ["| what | ptxspec | unit | against | theirs | times better | budget | note |"]
    out += ["| --- | ---: | --- | --- | ---: | ---: | --- | --- |"]
    for row in result.rows:
        ratio = f"{row.ratio:.3g}" if row.ratio else ""
        budget = "" if row.budget is None else f"{'<=' if row.lower else '>='} {number(row.budget)}"
        if row.met is not None:
            budget += " met" if row.met else " **missed**"
        theirs = number(row.other) if row.other is not None else ("absent" if row.against else "")
        cells = [row.what, number(row.value), row.unit, row.against, theirs, ratio, budget, row.note]
        out.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    out += [""]
    out += [f"- {text}" for text in result.remarks]
    out += ["" if result.remarks else None] if result.remarks else []  # type: ignore[list-item]
    facts = {"date": result.date, **result.machine}
    out += ["Measured: " + "; ".join(f"{key} {value}" for key, value in facts.items()) + ".", ""]
    out += [f"Again: `scripts/bench {result.name}`", ""]
    return "\n".join(text for text in out if text is not None)


def finish(result: Result) -> Result:
    """Stamp date, machine and versions."""
    result.date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    result.machine = {**machine(), "versions": ", ".join(f"{k} {v}" for k, v in versions().items())}
    return result


def save(result: Result, folder: Path) -> None:
    """Write ``NAME.json`` and ``NAME.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    data = asdict(result)
    for entry, row in zip(data["rows"], result.rows, strict=True):
        entry["ratio"], entry["met"] = row.ratio, row.met
    (folder / f"{result.name}.json").write_text(json.dumps(data, indent=1) + "\n")
    (folder / f"{result.name}.md").write_text(markdown(result))
