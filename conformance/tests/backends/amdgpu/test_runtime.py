"""The amdgpu backend, with the host playing the device: what is honest about it, and that launches do what they do."""

from __future__ import annotations

import pytest

import adstack as qd
from adstack import inspection
from adstack.backends.amdgpu import capability
from adstack.conformance.subjects.backends import backend_subject
from adstack.runtime.protocol.backend import Capabilities, Unavailable


def test_it_is_unavailable_unless_the_host_is_asked_to_play_it(monkeypatch):
    monkeypatch.delenv(capability.CHOICE, raising=False)
    there = inspection.probe("amdgpu")
    assert isinstance(there, Unavailable)
    assert "ADSTACK_AMDGPU_DEVICE=gfx1100" in there.fix
    with pytest.raises(qd.BackendUnavailableError, match="arch amdgpu is not available"):
        qd.init(arch=qd.amdgpu)
    monkeypatch.setattr(capability, "compiler", lambda: ("clang++", "clang 19"))
    for name in capability.EMULATED:
        monkeypatch.setenv(capability.CHOICE, name)
        there = inspection.probe("amdgpu")
        assert isinstance(there, Capabilities)
        assert (there.kind, there.device) == ("emulated", name)
    monkeypatch.setattr(capability, "compiler", lambda: None)
    there = inspection.probe("amdgpu")
    assert isinstance(there, Unavailable)
    assert "clang" in there.fix


@pytest.mark.parametrize("name", capability.EMULATED)
def test_it_is_a_subject_of_the_matrix_where_there_is_clang(name, monkeypatch):
    monkeypatch.setattr(capability, "compiler", lambda: ("clang++", "clang 19"))
    subject = backend_subject(f"amdgpu:{name}")
    assert subject.title == ("amdgpu", f"emulated: {name}")
    assert {"f16", "f32", "f64", "i64"} <= set(subject.dtypes)
    assert not subject.gaps
    assert not subject.refusals
    monkeypatch.setattr(capability, "compiler", lambda: None)
    assert not backend_subject(f"amdgpu:{name}").is_available
