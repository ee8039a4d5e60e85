"""Pipelines and what is known of a device: made, refused, kept on disk."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from interpreter_kit import serial
from vulkan_kit import STRICT, backend, shared_of, tasks_of

import adstack as qd
from adstack.backends.codegen_spirv.assembly.opcodes import Capability
from adstack.backends.codegen_spirv.tasks import emit_program
from adstack.backends.codegen_spirv.trials import TRIALS
from adstack.backends.shared import kept
from adstack.backends.vulkan import traits
from adstack.backends.vulkan.codegen import most_groups
from adstack.backends.vulkan.driver import api, instance
from adstack.backends.vulkan.toolchain import Pipelines
from adstack.errors import AdstackMemoryError, AdstackRuntimeError, BackendUnavailableError
from adstack.runtime import state

ONE = serial("%a = const 3 : i32\nstore @x[], %a\nreturn", places="place @x : i32[] field")


def shader():
    (module,) = emit_program(tasks_of(ONE), STRICT).shaders
    return module


def test_pipelines_are_kept_on_disk(tmp_path):
    device = backend().device
    pipelines = Pipelines(device, tmp_path)
    module = shader()
    pipelines.destroy(pipelines.make(module.words, 1, module.capabilities, "a test"))
    pipelines.save()
    (file,) = (tmp_path / "vulkan").glob("*.bin")
    assert file.stat().st_size > 32
    again = Pipelines(device, tmp_path)
    again.destroy(again.make(module.words, 1, module.capabilities, "a test"))


def test_processes_add_to_the_file_and_take_nothing_out_of_it(tmp_path, monkeypatch):
    device, module = backend().device, shader()
    merged = []
    monkeypatch.setitem(
        device.vk, "vkMergePipelineCaches", lambda handle, into, count, others: merged.append((into, others[0])) or 0
    )
    one, other = Pipelines(device, tmp_path), Pipelines(device, tmp_path)
    for pipelines in (one, other):
        pipelines.destroy(pipelines.make(module.words, 1, module.capabilities, "a test"))
    one.save()
    assert merged == []  # there was nothing, as when it started
    other.save()
    assert [into for into, _ in merged] == [other.cache]


def test_what_is_not_to_be_cached_leaves_no_file(tmp_path):
    pipelines, module = Pipelines(backend().device, tmp_path), shader()
    pipelines.destroy(pipelines.make(module.words, 1, module.capabilities, "a test", cached=False))
    pipelines.save()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", [b"", b"short", bytes(100)])
def test_a_damaged_file_is_no_cache(damage, tmp_path):
    device = backend().device
    name = Pipelines(device, None).name
    (tmp_path / "vulkan").mkdir()
    (tmp_path / "vulkan" / f"{name}.bin").write_bytes(damage)
    module = shader()
    pipelines = Pipelines(device, tmp_path)
    pipelines.destroy(pipelines.make(module.words, 1, module.capabilities, "a test"))


def refusing(result: int, device):
    """A device whose driver makes no pipelines."""
    vk = {**device.vk, "vkCreateComputePipelines": lambda *rest: result}
    return SimpleNamespace(vk=vk, handle=device.handle, physical=device.physical, process=device.process)


@pytest.mark.parametrize("result", [-3, -13, 0])
def test_a_pipeline_that_the_driver_refuses_is_an_error_and_never_launched(result):
    module = shader()
    pipelines = Pipelines(refusing(result, backend().device), None)
    with pytest.raises(AdstackRuntimeError, match=r"the Vulkan driver refuses the code of k\.0") as caught:
        pipelines.make(module.words, 1, module.capabilities, "k.0")
    assert "update the driver" in str(caught.value)


def test_what_the_device_lacks_is_named():
    module = shader()
    needs = module.capabilities | {Capability.AtomicFloat64AddEXT}
    with pytest.raises(BackendUnavailableError, match=r"needs shaderBufferFloat64AtomicAdd, which .* does not have"):
        Pipelines(backend().device, None).make(module.words, 1, needs, "k.0")


@pytest.mark.parametrize(
    ("result", "kind", "words"),
    [(-1, AdstackMemoryError, "smaller data"), (-2, AdstackMemoryError, "smaller data"),
     (-4, AdstackRuntimeError, r"the device was lost \(VK_ERROR_DEVICE_LOST\)"),
     (-9, AdstackRuntimeError, "VK_ERROR_INCOMPATIBLE_DRIVER"),
     (-987654, AdstackRuntimeError, "do it: VkResult -987654"),
     (-1000069000, AdstackRuntimeError, "do it: VK_ERROR_OUT_OF_POOL_MEMORY"),
     (-13, AdstackRuntimeError, "adstack doctor")],
)  # fmt: skip
def test_what_vulkan_says_becomes_an_error_with_a_remedy(result, kind, words):
    with pytest.raises(kind, match=words):
        api.check(result, "do it")


def test_a_lost_device_is_raised_by_whoever_waits(monkeypatch):
    device = backend().device
    monkeypatch.setitem(device.vk, "vkWaitSemaphores", lambda *rest: -4)
    with pytest.raises(AdstackRuntimeError, match="could not wait for a launch: the device was lost"):
        device.wait(device.finished + 1)


def test_what_a_device_does_is_found_out_once(tmp_path, monkeypatch):
    shared = shared_of(backend())
    arguments = shared.memory, shared.stream, shared.pipelines, tmp_path
    first = traits.measured(*arguments)
    assert first == shared.traits
    (file,) = (tmp_path / "vulkan").glob("*.traits")
    name = f"vulkan/{file.name}"
    measured = json.loads(kept.read(tmp_path, name))
    assert measured["div32"]
    monkeypatch.setattr(traits, "_tried", lambda *rest: pytest.fail("it was known"))
    assert traits.measured(*arguments) == first
    kept.write(tmp_path, name, json.dumps({**measured, "div32": False}).encode())
    assert not traits.measured(*arguments).div32


def test_a_device_that_cuts_loops_short_is_found_out(tmp_path, monkeypatch):
    shared = shared_of(backend())
    trial = next(t for t in TRIALS if t.name == "endless")
    monkeypatch.setattr(trial, "wanted", lambda a, b, c: a + 1)
    assert not traits.measured(shared.memory, shared.stream, shared.pipelines, tmp_path).endless


def test_a_device_gets_as_many_workgroups_as_keep_it_busy():
    assert most_groups(True, 65535) < most_groups(False, 65535) <= 65535
    assert most_groups(False, 100) == 100


def test_an_instance_that_is_refused_names_the_reason(monkeypatch):
    refusing = SimpleNamespace(vkCreateInstance=lambda *rest: -9)
    monkeypatch.setattr(instance, "lib", lambda: refusing)
    reason, remedy = instance._made.__wrapped__()
    assert reason == "Vulkan refuses to start (VK_ERROR_INCOMPATIBLE_DRIVER)"
    assert "install a driver" in remedy


def test_a_kernel_whose_pipeline_is_refused_launches_nothing_and_can_be_called_again(monkeypatch):
    qd.init(arch=qd.vulkan, offline_cache=False)
    x = qd.field(qd.f32, 4, needs_grad=True)
    x.fill(2.0)

    @qd.kernel
    def k():
        for i in x:
            x[i] = 3.0 * qd.sin(x[i]) + 7.0

    vk = shared_of(state.current().backend).device.vk
    with monkeypatch.context() as refused:
        refused.setitem(vk, "vkCreateComputePipelines", lambda *rest: -3)
        for _ in range(2):
            with pytest.raises(AdstackRuntimeError, match=r"refuses the code of .* \(VK_ERROR_INITIALIZATION_FAILED; "):
                k()
        assert x.to_numpy().tolist() == [2.0] * 4
    x.fill(0.0)
    k()
    assert x.to_numpy().tolist() == [7.0] * 4
