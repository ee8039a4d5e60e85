"""Launches whose arguments and extents are in order run without guards, on devices of their own."""

from __future__ import annotations

import dataclasses

from assumptions_kit import STEP, steps
from vulkan_kit import agree_on, backend, tasks_of

from adstack.backends.codegen_spirv.assembly.text import listing
from adstack.backends.codegen_spirv.assembly.traits import IEEE
from adstack.backends.codegen_spirv.tasks import emit_program


def shader(threads: int) -> str:
    (one,) = emit_program(tasks_of(STEP), dataclasses.replace(IEEE, threads=threads)).shaders
    return listing(one.words)


def test_only_devices_of_their_own_have_two_versions():
    assert [shader(threads).count("OpLoopMerge") for threads in (0, 256)] == [1, 2]


def test_all_launches_do_what_they_should():
    agree_on(STEP, steps(), device=backend(threads=256))
