"""The HTML page: complete, self-contained, right about bytes, banks and the failing thread."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ptxspec.cli import run
from ptxspec.cli.kernels import kernels
from ptxspec.proof import prove
from ptxspec.report.accesses import accesses
from ptxspec.report.banks import passes
from ptxspec.report.page import page

ROOT = Path(__file__).resolve().parent.parent.parent

TRANSPOSE = '''
from ptxspec import T
from ptxspec.layout import ComposeLayout, S, TileLayout

@T.function
def plain(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=(32, 8)))
    x, y = T.cuda.thread_idx("x"), T.cuda.thread_idx("y")
    tile = T.alloc_shared((32, 32), "float32")
    for j in T.serial(4):
        tile[y + 8 * j, x] = A[y + 8 * j, x]
    T.cuda.cta_sync()
    for j in T.serial(4):
        B[y + 8 * j, x] = tile[x, y + 8 * j]

@T.function
def padded(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=(32, 8)))
    x, y = T.cuda.thread_idx("x"), T.cuda.thread_idx("y")
    tile = T.alloc_shared((32, 32), "float32", layout=TileLayout(S[(32, 32) : (33, 1)]))
    for j in T.serial(4):
        tile[y + 8 * j, x] = A[y + 8 * j, x]
    T.cuda.cta_sync()
    for j in T.serial(4):
        B[y + 8 * j, x] = tile[x, y + 8 * j]

@T.function
def vectors(A: T.Tensor((32, 32), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    tid = T.cuda.thread_idx("x")
    tile = T.alloc_shared((32, 32), "float32", align=16)
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid, 0:4])
    T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], tile.sub[tid, 0:4], r)
'''


class Structure(HTMLParser):
    """Open tags must be closed; scripts, links and sources to elsewhere are collected."""

    VOID = {"meta", "br", "rect", "line"}

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.problems: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in ("script", "link", "iframe", "img") or "src" in values:
            self.problems.append(f"<{tag}> loads something")
        if values.get("id"):
            self.ids.append(str(values["id"]))
        if values.get("href"):
            self.links.append(str(values["href"]))
        if tag not in ("meta", "br"):
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.problems.append(f"<{tag}/>")

    def handle_endtag(self, tag: str) -> None:
        # <li>, <p> and table parts are closed in our templates, so plain nesting has to hold.
        if not self.stack or self.stack.pop() != tag:
            self.problems.append(f"</{tag}> closes another element")


def structure(text: str) -> Structure:
    found = Structure()
    found.feed(text)
    found.close()
    assert found.problems == []
    assert found.stack == []
    return found


@pytest.fixture
def transposes(tmp_path: Path) -> str:
    file = tmp_path / "moves.py"
    file.write_text(TRANSPOSE)
    return str(file)


@pytest.mark.parametrize("name", ["broken/race_free", "broken/row_past_the_end", "broken/aligned", "broken/fits",
                                  "broken/convergent", "broken/no_wrap", "cta_copy", "strided_load", "read_next_row"])
def test_pages_of_examples(name: str) -> None:
    found = [(k, prove(k)) for k in kernels(str(ROOT / "examples" / f"{name}.py"))]
    text = page(found)
    shape = structure(text)
    for kernel, report in found:
        assert kernel.__name__ in text
        for diagnostic in report.diagnostics:
            assert diagnostic.message.split("`")[0] in text
        for obligation in report.obligations[:20]:
            assert obligation.subject in text
    assert "http" not in text
    assert all(link[1:] in shape.ids for link in shape.links if link.startswith("#"))


def test_failing_thread_and_bytes_are_marked() -> None:
    kernel, = kernels(str(ROOT / "examples" / "broken" / "row_past_the_end.py"))
    report = prove(kernel)
    drawn = next(d for d in accesses(kernel.kernel(), report) if d.bad is not None)
    failing, = [a for a in drawn.atoms if a.failing]
    assert failing.thread == 63
    assert failing.words == (1024, 1028, 1032, 1036)
    assert drawn.extent == (0, 1024)
    assert [a.thread for a in drawn.atoms] == list(range(32, 64))
    text = page([(kernel, report)])
    assert 'class="px-bad"><title>thread 63: bytes 1024 to 1039 of A (element 256)' in text
    assert "<mark class=\"refuted\">A.sub[tid + 1, :]</mark>" in text


def test_both_threads_of_a_race_are_marked() -> None:
    kernel, = kernels(str(ROOT / "examples" / "broken" / "race_free.py"))
    report = prove(kernel)
    example = report.failures()[0].counterexample
    assert example is not None and example.second is not None
    threads = {example.thread, example.second.thread}
    marked = {a.coordinates for d in accesses(kernel.kernel(), report) for a in d.atoms if a.failing}
    assert marked == threads
    bytes_ = [set(a.words) for d in accesses(kernel.kernel(), report) for a in d.atoms if a.failing]
    assert any(example.byte in words for words in bytes_)


def test_threads_left_out_by_a_guard(tmp_path: Path) -> None:
    file = tmp_path / "guarded.py"
    file.write_text('from ptxspec import T\n\n@T.function\ndef k(A: T.Tensor((64,), "float32")):\n'
                    '    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))\n'
                    '    tid = T.cuda.thread_idx("x")\n    if tid < 10:\n        A[tid] = T.float32(1)\n')
    kernel, = kernels(str(file))
    drawn, = accesses(kernel.kernel(), prove(kernel))
    assert [a.active for a in drawn.atoms] == [k < 10 for k in range(32)]


@pytest.mark.parametrize(("name", "kind", "taken", "ideal"), [
    ("plain", "write", 1, 1), ("plain", "read", 32, 1), ("padded", "write", 1, 1), ("padded", "read", 1, 1),
    ("vectors", "write", 32, 4),
])
def test_bank_conflicts(transposes: str, name: str, kind: str, taken: int, ideal: int) -> None:
    kernel, = kernels(f"{transposes}:{name}")
    drawn, = [d for d in accesses(kernel.kernel(), None) if d.scope == "shared" and d.kind == kind]
    found = passes(drawn)
    assert (found.taken, found.ideal) == (taken, ideal)
    assert found.conflicts == taken - ideal
    assert ("conflict:" in found.summary()) == (taken > ideal)


def test_one_page_per_kernel_in_a_folder(transposes: str, tmp_path: Path) -> None:
    out = tmp_path / "pages"
    run(["prove", transposes, "--html", f"{out}/"])
    assert sorted(p.name for p in out.iterdir()) == ["index.html", "padded.html", "plain.html", "vectors.html"]
    links = structure((out / "index.html").read_text()).links
    assert links == ["plain.html", "padded.html", "vectors.html"]
    whole = tmp_path / "all.html"
    run(["prove", transposes, "--html", str(whole)])
    assert [i for i in structure(whole.read_text()).ids if not i.startswith("L")] == ["plain", "padded", "vectors"]


def test_replays_are_on_the_page(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert run(["prove", str(ROOT / "examples" / "broken" / "aligned.py"), "--replay", "--html", str(out)]) == 1
    text = out.read_text()
    structure(text)
    assert "Replayed in the simulator" in text
    assert "same fault, thread and byte" in text


def test_colour_table_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import io

    from ptxspec.report.terminal import show_report

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Terminal()
    kernel, = kernels(str(ROOT / "examples" / "broken" / "aligned.py"))
    report = prove(kernel)
    show_report(report, out)
    assert "\x1b[1;31mrefuted" in out.getvalue()
    assert out.getvalue().count("P1") == len(report.obligations)


def test_symbolic_kernels_have_pages() -> None:
    for folder in ("proved", "unknown", "vacuous"):
        for file in sorted((ROOT / "tests" / "proofs" / folder).glob("*.py")):
            items = [(k, prove(k)) for k in kernels(str(file))]
            assert items
            structure(page(items))


def test_notebook_views() -> None:
    import ptxspec
    kernel, = kernels(str(ROOT / "examples" / "broken" / "aligned.py"))
    structure(kernel._repr_html_())
    report = prove(kernel)
    assert "is not aligned to 16 bytes" in report._repr_html_()
    verdict = ptxspec.database().check("ld.global.v8.b32", sm="sm_90", ptx="9.0")
    shown = verdict._repr_html_()
    assert "not legal" in shown
    assert verdict.nearest[0] in shown


def test_imports_stay_light() -> None:
    code = ("import sys, ptxspec, ptxspec.layout, ptxspec.proof.report, ptxspec.report;"
            "print([m for m in ('jinja2', 'rich', 'numpy', 'z3', 'ptxspec.report.page') if m in sys.modules])")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
