"""What tests of launches share that Python announces and machine code makes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from adstack import inspection
from adstack.runtime import plans

COMPILED = [
    arch
    for arch in inspection.ARCHES
    if arch != "reference" and not isinstance(inspection.probe(arch), inspection.Unavailable)
]
"""The backends of this machine that have machine code."""


@pytest.fixture(params=COMPILED)
def compiled_arch(request: pytest.FixtureRequest) -> str:
    """Each of them."""
    name: str = request.param
    return name


@pytest.fixture
def by_machine(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each launch that Python announces: whether machine code has made it."""
    made: list[bool] = []
    usual = plans.launched

    def launched(machine_code: Callable[..., object], args: tuple[object, ...]) -> object:
        result = usual(machine_code, args)
        made.append(result is not plans.refuse())
        return result

    monkeypatch.setattr(plans, "launched", launched)
    return made
