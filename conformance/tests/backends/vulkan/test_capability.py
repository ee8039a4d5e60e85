"""Which Vulkan device is taken, and what is said where none can be."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from vulkan_kit import backend, run

from adstack.backends.vulkan import capability
from adstack.backends.vulkan.runtime import probe

MANIFESTS = Path("/usr/share/vulkan/icd.d")
"""Where systems list their drivers."""
TWO = """
import os
import adstack as qd
from adstack.backends.vulkan.runtime import open_device
opened = []
for number in ("0", "1"):
    os.environ["ADSTACK_VULKAN_DEVICE"] = number
    qd.init(arch=qd.vulkan)
    x = qd.field(qd.i32, shape=8)

    @qd.kernel
    def count():
        for i in x:
            x[i] += i + int(qd.static(number == "1"))

    count()
    assert x.to_numpy().tolist() == list(range(int(number), 8 + int(number)))
    opened.append(open_device().device)
    qd.reset()
assert [device.physical.number for device in opened] == [0, 1]
assert opened[0].handle != opened[1].handle
print("both")
"""


def test_two_devices_are_selectable(tmp_path):
    driver = (sorted(MANIFESTS.glob("lvp_icd*.json")) or sorted(MANIFESTS.glob("*.json")))[0]
    files = [tmp_path / name for name in ("one.json", "two.json")]
    for file in files:
        file.write_bytes(driver.read_bytes())
    both = ":".join(map(str, files))
    done = run(TWO, VK_DRIVER_FILES=both, VK_ICD_FILENAMES=both)
    assert done.stdout == "both\n", done.stdout + done.stderr


SAY = "import adstack as qd, json; from adstack import inspection; found = inspection.probe('vulkan'); "


class TestAbsence:
    def test_without_a_driver_it_says_so(self, tmp_path):
        none = tmp_path / "none.json"
        none.write_text("{}")
        code = SAY + "print(json.dumps([type(found).__name__, found.reason, found.fix]))"
        done = run(code, VK_ICD_FILENAMES=str(none), VK_DRIVER_FILES=str(none))
        name, reason, fix = json.loads(done.stdout)
        assert name == "Unavailable"
        assert reason
        assert "mesa-vulkan-drivers" in fix

    def test_a_device_that_is_not_there_is_named_with_those_that_are(self, monkeypatch):
        monkeypatch.setenv("ADSTACK_VULKAN_DEVICE", "mainframe")
        answer = probe()
        assert answer.reason == "ADSTACK_VULKAN_DEVICE is 'mainframe', and no device has that number or name"
        assert answer.fix.startswith("choose one of 0: ")

    def test_a_device_is_chosen_by_number_or_part_of_its_name(self, monkeypatch):
        device = backend().capabilities.device
        for wanted in ("0", device[:6].upper()):
            monkeypatch.setenv("ADSTACK_VULKAN_DEVICE", wanted)
            assert probe().device == device

    def test_among_several_the_fastest_kind_is_taken_unless_one_is_named(self, monkeypatch):
        (here, *_) = capability.devices()
        kinds = {"processor": 4, "integrated": 1, "discrete": 2, "other": 0}
        present = [replace(here, number=k, name=name, kind=kind) for k, (name, kind) in enumerate(kinds.items())]
        monkeypatch.setattr(capability, "devices", lambda: present)
        assert capability.chosen().name == "discrete"
        for wanted, name in (("0", "processor"), ("OTHER", "other"), ("3", "other"), ("integ", "integrated")):
            monkeypatch.setenv("ADSTACK_VULKAN_DEVICE", wanted)
            assert capability.chosen().name == name
            monkeypatch.setenv("ADSTACK_VULKAN_DEVICE", "1")
            assert capability.chosen(wanted).name == name
        assert capability.device_names() == list(kinds)
        assert capability.chosen("7")[0] == "device='7' was asked for, and no device has that number or name"

    def test_one_that_lacks_what_is_needed_is_passed_over_and_refused_by_name(self, monkeypatch):
        (here, *_) = capability.devices()
        lacking = replace(here, number=0, name="old", kind=2, features=here.features - {"timelineSemaphore"})
        monkeypatch.setattr(capability, "devices", lambda: [lacking, replace(here, number=1)])
        assert capability.chosen().number == 1
        monkeypatch.setattr(capability, "devices", lambda: [lacking])
        reason, fix = capability.chosen()
        assert reason == f"old ({here.driver}) lacks timelineSemaphore"
        assert fix == "update its driver, or choose another of 0: old"

    def test_without_the_package_it_says_what_to_install(self):
        code = "import sys; sys.modules['vulkan'] = None; " + SAY + "print(found.fix)"
        assert run(code).stdout.strip() == "pip install 'adstack[vulkan]'"
