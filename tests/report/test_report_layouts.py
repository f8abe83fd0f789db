"""Layouts drawn, shown, compared."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ptxspec.cli import run
from ptxspec.layout import ComposeLayout, R, S, TileLayout, laneid, warpid
from ptxspec.report import diff_svg, difference, layout_svg
from ptxspec.report.places import NotConstant, grid, place
from ptxspec.scalar.expr import Var

MMA = TileLayout(S[(8, 2, 4, 2) : (4 @ laneid, 1, 1 @ laneid, 2)])


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_owner_and_register_of_every_element() -> None:
    found = grid(MMA)
    for cell in found.cells():
        i, j, k, n = cell.index
        assert cell.axes == {"laneid": 4 * i + k, "m": j + 2 * n}
        assert cell.thread == 4 * i + k
        assert cell.place() == f"l{4 * i + k} r{j + 2 * n}"
    assert len(list(found.cells())) == 128
    assert found.notes == ()


def test_svg_is_well_formed_and_labels_every_cell() -> None:
    svg = layout_svg(MMA)
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg")
    shown = texts(svg)
    assert shown.count("l31") == 4
    assert shown.count("r3") == 32
    assert "prefers-color-scheme:dark" in svg


def test_large_layouts_are_cut_and_say_so() -> None:
    found = grid(TileLayout(S[(4, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 4, 1)]))
    assert found.notes == ("32 of 128 rows are shown",)
    assert grid(TileLayout(S[(2, 300) : (300, 1)])).notes == ("64 of 300 columns are shown",)
    long = grid(TileLayout(S[(420,) : (2,)]), rows=4)
    assert long.notes == ("4 of 14 rows are shown",)
    assert [name for name, _ in long.rows] == ["0", "32", "64", "96"]
    assert long.rows[1][1][3].axes == {"m": 70}
    huge = grid(TileLayout(S[(1 << 40, 1 << 40) : (1, 1)]))
    assert len(list(huge.cells())) == 32 * 64


def test_copies_and_shared_places_are_told() -> None:
    assert "2 copies" in grid(TileLayout(S[(4,) : (1,)] + R[2 : 4 @ laneid])).notes[0]
    from ptxspec.report.draw_layout import layout_picture
    picture = layout_picture(TileLayout(S[(4, 2) : (1, 1)]))
    assert picture.notes == ("6 of the elements shown share a place with another one (red)",)
    assert picture.drawing.inline().count('class="px-bad"') == 6


def test_symbolic_layout_is_not_drawn_but_shown() -> None:
    layout = TileLayout(S[(Var("n", "int32", "dim", 1, None), 4)])
    with pytest.raises(NotConstant):
        grid(layout)
    assert "not drawn" in layout._repr_html_()


def test_difference_counts_moves() -> None:
    rows, columns = TileLayout(S[(4, 8) : (8, 1)]), TileLayout(S[(4, 8) : (1, 4)])
    found = difference(rows, columns)
    assert found.total == found.compared == 32
    assert len(found.moved) == 30
    assert found.moved[0].index == (0, 1)
    assert found.moved[0].text() == "1 -> 4"
    assert difference(rows, TileLayout(S[(32,) : (1,)])).same
    assert difference(rows, rows).summary() == "the same: all 32 elements lie in the same place"
    with pytest.raises(NotConstant):
        difference(rows, TileLayout(S[(4, 4) : (4, 1)]))


def test_difference_of_owners() -> None:
    moved = TileLayout(S[(8, 2, 4, 2) : (4 @ laneid, 2, 1 @ laneid, 1)])
    assert difference(MMA, moved).owners_changed() == 0
    other = TileLayout(S[(8, 2, 4, 2) : (1 @ laneid, 1, 8 @ laneid, 2)])
    assert "to another owner" in difference(MMA, other).summary()


def test_swizzle_is_a_permutation_of_each_row() -> None:
    plain = TileLayout(S[(8, 64) : (64, 1)])
    swizzled = ComposeLayout(3, 3, 3, plain)
    found = difference(plain, swizzled)
    assert len(found.moved) == 7 * 64
    assert sorted(place(swizzled, (5, k), (8, 64))["m"] for k in range(64)) == list(range(320, 384))
    ElementTree.fromstring(diff_svg(plain, swizzled))


def test_show_and_diff_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a.svg"
    assert run(["layout", "show", "S[(2, 2)]", "S[(2, 4) : (1 @ laneid, 1)]", "--svg", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "l1 r3" in shown
    assert "\x1b" not in shown
    assert "l1" in texts((tmp_path / "a-2.svg").read_text())
    assert run(["layout", "diff", "S[(2, 2)]", "S[(2, 2) : (1, 2)]", "--svg", str(out)]) == 1
    shown = capsys.readouterr().out
    assert "2 of 4 elements moved" in shown
    assert "1\u21922" in shown
    assert out.read_text().count("px-moved") >= 2
    assert run(["layout", "diff", "S[(2, 2)]", "S[4]", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["same"] is True


def test_of_a_large_layout_a_corner_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["layout", "show", "S[(128, 200) : (200, 1)]"]) == 0
    shown = capsys.readouterr().out
    assert "elements 25600, memory 0 to 25599, contiguous" in shown
    assert "note: 16 of 128 rows are shown" in shown
    assert "note: 16 of 200 columns are shown" in shown
    assert "the last element, [127, 199], lies at 25599" in shown
    assert shown.splitlines()[-1].split() == ["[15]", *(str(3000 + k) for k in range(16))]
    assert run(["layout", "show", "--json", "S[(128, 200) : (200, 1)]", "S[4096]"]) == 0
    large, small = map(json.loads, capsys.readouterr().out.splitlines())
    assert (large["total"], large["shown"], len(large["elements"])) == (25600, 256, 256)
    assert large["elements"][17] == {"index": [1, 1], "m": 201}
    assert (small["total"], small["shown"], len(small["elements"])) == (4096, 4096, 4096)
    assert [e["m"] for e in small["elements"]] == list(range(4096))


def test_notebooks_show_a_corner_of_a_large_layout() -> None:
    html = TileLayout(S[(4096, 4096) : (4096, 1)])._repr_html_()
    assert "16 of 4096 rows are shown" in html
    assert "<title>[15, 15]: m 61455</title>" in html
    assert len(html) < 100_000


def test_a_layout_of_any_size_is_shown_at_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "large.svg"
    assert run(["layout", "show", "S[(1000000, 8, 1000000) : (8000000, 1 @ laneid, 1)]", "--svg", str(out)]) == 0
    assert "the last element, [999999, 7, 999999], lies at l7 r7999992999999" in capsys.readouterr().out
    ElementTree.parse(out)


def test_large_layouts_are_compared_as_far_as_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    large = "S[(512, 512) : (512, 1)]"
    assert run(["layout", "diff", large, large]) == 0
    assert "all 262144 elements" in capsys.readouterr().out
    assert run(["layout", "diff", large, "S[(512, 512) : (1, 512)]"]) == 1
    assert "the first 65536 of 262144 were compared" in capsys.readouterr().out
    # The first quarter is the same, and nothing is said of the rest: neither same nor different.
    assert run(["layout", "diff", large, "S[(2, 256, 512) : (262144, 512, 1)]"]) == 3
    assert "0 of 65536 elements moved (the first 65536 of 262144 were compared)" in capsys.readouterr().out


@pytest.mark.parametrize(("arguments", "code"), [
    (("show", "m.tile()"), "U150"), (("show", "(1,) * 10**9"), "U150"), (("show", "((10**64)**64)**64"), "U150"),
    (("show", "ravel((1,), (2,))"), "U150"), (("show", "S[4:1].__class__"), "U150"), (("show", "S[(4)"), "U150"),
    (("show", "(lambda: 1)()"), "U150"), (("show", "S[[i for i in (1,)]]"), "U150"), (("show", "\0"), "U150"),
    (("show", "(" * 500 + ")" * 500), "U150"), (("show", "S[" + "-" * 100000 + "1]"), "U150"),
    (("show", "open('x')"), "U150"), (("show", "S['a']"), "U150"), (("show", "S[(0, 2)]"), "U151"),
    (("diff", "S[4]", "S[5]"), "U152"), (("diff", "S[4]", "S["), "U150"),
    (("show", "S[4]", "--svg", "/no/such/folder/a.svg"), "U131"),
])
def test_bad_input_has_a_code(arguments: tuple[str, ...], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["layout", *arguments]) == 2
    captured = capsys.readouterr()
    assert f"error[{code}]" in captured.err
