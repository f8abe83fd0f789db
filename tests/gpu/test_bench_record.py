"""What the benchmarks write down: ratios the right way round, budgets, absent peers, and pages that hold it all."""

from __future__ import annotations

import json

from benchmarks.record import Result, Row, finish, line, markdown, save


def test_a_ratio_above_one_is_ours_ahead():
    assert Row("time", 2.0, "ms", other=6.0).ratio == 3.0
    assert Row("speed", 6.0, "GB/s", other=2.0, lower=False).ratio == 3.0
    assert Row("time", 6.0, "ms", other=2.0).ratio < 1
    assert Row("time", 6.0, "ms").ratio is None


def test_budgets_are_limits_in_the_right_direction():
    assert Row("time", 2.0, "ms", budget=2.0).met is True
    assert Row("time", 2.1, "ms", budget=2.0).met is False
    assert Row("speed", 2.1, "GB/s", budget=2.0, lower=False).met is True
    assert Row("speed", 1.9, "GB/s", budget=2.0, lower=False).met is False
    assert Row("time", 2.0, "ms").met is None


def test_an_absent_peer_is_called_absent():
    row = Row("copy", 4000.0, "GB/s", against="Warp", lower=False)
    assert "Warp: absent" in line(row)
    result = Result("copy", "Copy", "How.", [row])
    assert "| Warp | absent |" in markdown(result)


def test_a_page_names_date_machine_versions_and_the_way_to_repeat(tmp_path, capsys):
    result = Result("gpu_copy", "Dense copy", "How.")
    result.add("2 GiB | f32", 4260.0, "GB/s", against="cudaMemcpy", other=4250.0, budget=4250.0, lower=False)
    result.remark("a remark")
    save(finish(result), tmp_path)
    page = (tmp_path / "gpu_copy.md").read_text()
    assert "2 GiB \\| f32" in page
    assert ">= 4,250 met" in page
    assert "- a remark" in page
    assert all(word in page for word in ("processor", "python", "UTC"))
    assert "scripts/bench gpu_copy" in page
    kept = json.loads((tmp_path / "gpu_copy.json").read_text())
    assert kept["rows"][0]["ratio"] == 4260.0 / 4250.0
    assert kept["rows"][0]["met"] is True
    assert "cudaMemcpy" in capsys.readouterr().out
