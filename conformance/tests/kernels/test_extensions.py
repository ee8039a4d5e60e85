"""`extension`: what existing programs ask a backend for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import adstack as qd
from adstack.ir.types import f32
from adstack.runtime.protocol import registry
from adstack.runtime.protocol.backend import Capabilities, Unavailable


@pytest.mark.parametrize("arch", ["reference", "cpu", "vulkan"])
def test_reverse_mode_of_loops_is_always_there(arch: str) -> None:
    qd.init(arch=arch, default_ad_stack_size=64)
    assert qd.is_extension_enabled(qd.extension.adstack)
    assert qd.is_extension_supported(arch, qd.extension.adstack)
    assert qd.is_extension_enabled(qd.extension.assertion)
    assert qd.is_extension_enabled(qd.extension.sparse)
    assert not qd.is_extension_enabled(qd.extension.quant)


def test_an_arch_that_is_not_available_has_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "probe", lambda name: Unavailable(name, "none", "none"))
    assert not qd.is_extension_supported(qd.gpu, qd.extension.adstack)


def test_numbers_of_64_bits_are_asked_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    assert qd.is_extension_supported(qd.cpu, qd.extension.data64)
    narrow = Capabilities("vulkan", "native", "a phone", dtypes=(f32,))
    monkeypatch.setattr(registry, "probe", lambda name: narrow)
    assert not qd.is_extension_supported(qd.vulkan, qd.extension.data64)


def test_anything_else_is_refused_with_the_names_that_exist() -> None:
    for wrong in ("adstack", None, SimpleNamespace(name="adstack")):
        with pytest.raises(TypeError, match=r"is no extension\n  do: use one of extension\.adstack"):
            qd.is_extension_enabled(wrong)
