# SPDX-License-Identifier: MIT
"""Every call that PyTorch's own tests make of an operator, lab 05 answers as well."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.labs import sample_inputs


@pytest.mark.parametrize("operator", sample_inputs.IN_TORCH)
def test_a_sample_of_pytorch_gives_the_same_or_is_refused_with_a_sentence(
    extension: ModuleType, operator: str
):
    found = sample_inputs.inspect(operator)
    assert not found.wrong, "\n".join(found.wrong)
    assert found.samples > 10
    allowed = sample_inputs.MORE.get(operator, sample_inputs.ALLOWED)
    assert len(found.refused) <= allowed * found.samples, found.refused


def test_the_page_about_samples_is_the_present_one(extension: ModuleType):
    assert sample_inputs.PAGE.read_text(encoding="utf-8") == sample_inputs.page(), (
        "python -m tests.labs.sample_inputs writes it anew"
    )
