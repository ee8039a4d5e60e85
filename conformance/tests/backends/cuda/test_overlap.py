"""Launches that overlap: what the driver is told is what cuLaunchKernel would have been told, and that they may."""

from __future__ import annotations

import ctypes

import pytest
from cuda.bindings import driver as cuda

from adstack.backends.cuda.overlap import can_overlap, overlapping

POINTER, NUMBER = ctypes.c_void_p, ctypes.c_uint
CONFIG_BYTES, ATTRIBUTE_BYTES, ATTRIBUTES, GAP = 52, 72, slice(40, 48), slice(28, 32)
"""Of a CUlaunchConfig and a CUlaunchAttribute; where the one has the other's address, and where it has nothing."""


def declared() -> tuple[bytes, bytes]:
    """What a launch that may overlap tells the driver: by its declarations, but for an address."""
    attribute, config = cuda.CUlaunchAttribute(), cuda.CUlaunchConfig()
    attribute.id = cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    attribute.value.programmaticStreamSerializationAllowed = 1
    config.gridDimX, config.gridDimY, config.gridDimZ = 2, 3, 4
    config.blockDimX, config.blockDimY, config.blockDimZ = 5, 6, 7
    config.sharedMemBytes, config.hStream, config.numAttrs = 8, 12, 1
    return ctypes.string_at(config.getPtr(), CONFIG_BYTES), ctypes.string_at(attribute.getPtr(), ATTRIBUTE_BYTES)


@pytest.mark.parametrize("code", [0, 700])
def test_the_driver_is_told_the_same_and_that_launches_may_overlap(code):
    calls = []

    def launch(config, function, params, extra):
        words = bytearray(ctypes.string_at(config, CONFIG_BYTES))
        attribute = ctypes.string_at(int.from_bytes(words[ATTRIBUTES], "little"), ATTRIBUTE_BYTES)
        words[ATTRIBUTES], words[GAP] = bytes(8), bytes(4)
        calls.append(((bytes(words), attribute), function, params, extra))
        return code

    called = ctypes.CFUNCTYPE(ctypes.c_int, *[POINTER] * 4)(launch)
    address = overlapping(ctypes.cast(called, POINTER).value or 0)
    function = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, *[NUMBER] * 7, POINTER, POINTER, POINTER)(address)
    assert function(11, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14) == code
    assert calls == [(declared(), 11, 13, 14)]


def test_devices_before_hopper_can_not():
    assert [can_overlap(version) for version in ((8, 9), (9, 0), (10, 0))] == [False, True, True]
