"""The HTML page of a proof report: one self-contained file without scripts or outside assets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ptxspec.diagnostics import Diagnostic
from ptxspec.lang import ir
from ptxspec.proof.report import VERDICTS, Obligation, ProofReport
from ptxspec.report.accesses import Drawn, accesses, count
from ptxspec.report.draw_layout import layout_picture
from ptxspec.report.draw_memory import bank_picture, memory_picture
from ptxspec.report.palette import stylesheet
from ptxspec.report.places import NotConstant
from ptxspec.report.source import Excerpt, anchor, excerpts
from ptxspec.scalar.expr import show

if TYPE_CHECKING:
    from jinja2 import Environment

    from ptxspec.backend.replay import Replay
    from ptxspec.lang.function import KernelFunction

MOST_ACCESSES = 16
MOST_ROWS = 300
_SCOPES = {"global": "global array", "shared": "shared memory", "local": "registers"}


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with its heading and notes; ``svg`` may be empty where only words are possible."""

    title: str
    svg: str
    notes: tuple[str, ...] = ()
    bad: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One obligation of the table."""

    obligation: Obligation
    facts: str
    unused: str
    link: str


@dataclass(frozen=True, slots=True)
class Section:
    """Everything about one kernel."""

    name: str
    report: ProofReport
    counts: tuple[tuple[str, int], ...]
    launch: str
    rows: tuple[Row, ...]
    more_rows: int
    premises: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    excerpts: tuple[Excerpt, ...]
    layouts: tuple[Figure, ...]
    accesses: tuple[Figure, ...]
    notes: tuple[str, ...] = field(default=())
    replays: tuple[Replay, ...] = field(default=())


def page(items: Sequence[tuple[KernelFunction | ir.Kernel, ProofReport]], title: str = "", *,
         replays: Sequence[Sequence[Replay]] = ()) -> str:
    """The page about the given kernels and their reports; ``replays`` has the replayed obligations of each."""
    sections = [section(k if isinstance(k, ir.Kernel) else k.kernel_for(r.sm), r) for k, r in items]
    sections = [replace(s, replays=tuple(found)) for s, found in zip(sections, replays)] + sections[len(replays):]
    name = title or (f"Proofs of {sections[0].name}" if len(sections) == 1 else "Proofs")
    template = _environment().get_template("page.html")
    return template.render(title=name, sections=sections, css=stylesheet()) + "\n"


def index(items: Sequence[tuple[str, ProofReport]], title: str = "Proofs") -> str:
    """A page of links: ``items`` are file names and reports."""
    return _environment().get_template("index.html").render(title=title, items=items) + "\n"


def fragment(kernel: ir.Kernel | None, report: ProofReport) -> str:
    """The part of a page about one report, for notebooks."""
    found = section(kernel, report) if kernel is not None else _bare(report)
    return _environment().get_template("fragment.html").render(s=found, css=stylesheet())


def section(kernel: ir.Kernel, report: ProofReport) -> Section:
    """What a page says about one kernel."""
    found = _bare(report)
    launch = kernel.launch
    grid = ", ".join(show(e) for e in launch.grid)
    text = f"grid ({grid}), block ({', '.join(map(str, launch.block))})"
    if launch.cluster != (1, 1, 1):
        text += f", cluster ({', '.join(map(str, launch.cluster))})"
    pictures, notes = access_figures(kernel, report)
    return Section(found.name, report, found.counts, text, found.rows, found.more_rows, found.premises,
                   found.diagnostics, tuple(excerpts(kernel, report)), tuple(layout_figures(kernel)), tuple(pictures),
                   tuple(notes))


def _bare(report: ProofReport) -> Section:
    counts = Counter(o.verdict for o in report.obligations)
    order = sorted(enumerate(report.obligations), key=lambda p: (VERDICTS.index(p[1].verdict), p[0]))
    rows = [_row(o) for _, o in order[:MOST_ROWS]]
    return Section(report.kernel, report, tuple((v, counts[v]) for v in reversed(VERDICTS) if counts[v]), "",
                   tuple(rows), len(order) - len(rows), tuple(premises(report)), report.diagnostics, (), (), ())


def _row(obligation: Obligation) -> Row:
    where = obligation.where
    return Row(obligation, ", ".join(obligation.facts_used), ", ".join(obligation.facts_unused),
               anchor(where.file, where.line))


def premises(report: ProofReport) -> list[str]:
    """What the proofs rest on, in sentences."""
    found = [f"the base of {name} is a multiple of {size} bytes (checked at launch)"
             for name, size in report.premises.alignments.items() if size > 1]
    found += [f"{text} (checked at launch)" for text, _, _ in report.premises.assumptions]
    found += [f"{text} (trusted: nobody can check it before the kernel runs)" for text, _, _ in report.premises.trusted]
    found += [f"{text} (checked at launch)" for text, _ in report.premises.launch]
    return found


def layout_figures(kernel: ir.Kernel) -> list[Figure]:
    """Every layout of the kernel: parameters, shared memory, registers."""
    figures: list[Figure] = []
    for buffer in kernel.buffers:
        shape = ", ".join(show(e) for e in buffer.shape)
        what = _SCOPES.get(buffer.scope, buffer.scope)
        title = f"{buffer.name}: {what}, {buffer.dtype} ({shape})"
        try:
            dims = [e.const for e in buffer.shape] if all(e.is_const for e in buffer.shape) else None
            picture = layout_picture(buffer.layout, buffer.name, dims, rows=16, columns=32)
        except NotConstant as reason:
            figures.append(Figure(title, "", (f"{buffer.layout!r}", f"not drawn: {reason}")))
            continue
        units = ("register" if buffer.scope == "local" else "position in elements") if not buffer.layout.axes() else \
            "owner (w warp, l lane, t thread) above, register below"
        figures.append(Figure(title, picture.drawing.inline(), (f"{buffer.layout!r}", units, *picture.notes)))
    return figures


def access_figures(kernel: ir.Kernel, report: ProofReport | None) -> tuple[list[Figure], list[str]]:
    """Drawings of the memory accesses, refuted ones first, and what was left out."""
    total = count(kernel)
    notes = [f"{MOST_ACCESSES} of {total} memory accesses are drawn"] if total > MOST_ACCESSES else []
    return [figure for drawn in accesses(kernel, report, MOST_ACCESSES) for figure in _access(drawn)], notes


def _access(drawn: Drawn) -> list[Figure]:
    values = "".join(f", {name} = {value}" for name, value in drawn.values.items())
    title = f"line {drawn.where.line}: {drawn.what}, on {drawn.buffer} ({drawn.scope} memory)"
    if drawn.problem or not drawn.atoms:
        return [Figure(title, "", (f"not drawn: {drawn.problem or 'no thread'}",), drawn.bad is not None)]
    first, last = drawn.atoms[0].thread, drawn.atoms[-1].thread
    size = len(drawn.atoms[0].words) * drawn.word_bytes
    who = f"threads {first} to {last} of block ({', '.join(map(str, drawn.block))}){values}; {size} bytes each"
    if drawn.atoms[-1].repeat is not None:
        who = f"repeats 0 to {len(drawn.atoms) - 1} of the only thread; {size} bytes each"
    picture = memory_picture(drawn)
    notes = [who, *picture.notes]
    if drawn.bad is not None and drawn.bad.counterexample is not None:
        notes[:0] = [f"{drawn.bad.explain} {drawn.bad.code}: {drawn.bad.message}", *drawn.bad.counterexample.lines]
    figures = [Figure(title, picture.drawing.inline(), tuple(notes), drawn.bad is not None)]
    if drawn.scope == "shared":
        banks, count = bank_picture(drawn)
        figures.append(Figure(f"line {drawn.where.line}: banks of {drawn.buffer}", banks.drawing.inline(),
                              (count.summary(), *banks.notes)))
    return figures


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader
    return Environment(loader=PackageLoader("ptxspec.report", "templates"), autoescape=True, trim_blocks=True,
                       lstrip_blocks=True)
