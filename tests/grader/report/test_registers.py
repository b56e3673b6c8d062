# SPDX-License-Identifier: MIT
"""What the HTML report tells of nvcc."""

from __future__ import annotations

from tests.grader.report.test_report import one_file, rendered, valid


def test_what_nvcc_made_of_a_kernel_is_a_row_for_each_architecture(tmp_path):
    kernel = {"name": "add_kernel", "spills": 0, "shared": 1024}
    rows = [
        {**kernel, "architecture": "sm_75", "registers": 40, "occupancy": 0.75},
        {**kernel, "architecture": "sm_90", "registers": 72, "spills": 16},
    ]
    said = {"verdict": "PASS", "message": "", "location": None, "warnings": ["a <b>"]}
    results = one_file(tmp_path, "int x;\n")
    results["tasks"][0]["rungs"][0]["nvcc"] = {**said, "kernels": rows}
    text = rendered(valid(results), tmp_path)
    sentence = "1 kernel, at most 72 registers a thread, 16 bytes spilled"
    assert f"compiler: {sentence}" in text
    assert '<td class="l">sm_75<td>40<td>0<td>1024<td>75' in text
    assert "a &lt;b&gt;" in text
    results["tasks"][0]["rungs"][0]["nvcc"]["kernels"] = []
    assert "registers a thread" not in rendered(valid(results), tmp_path)
