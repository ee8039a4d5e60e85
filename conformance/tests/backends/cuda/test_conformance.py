"""Cases whose meaning depends on threads, memory and adstacks, run by the host playing a device.

`ADSTACK_CUDA_DEVICE=host adstack conformance -b cuda` runs all of them. By day one variant of each case will do.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from nightly_kit import BY_NIGHT

from adstack.conformance.harness.loading import collect
from adstack.conformance.harness.plan import one_of_each, select

TOPICS = {
    "adstacks": ("adstack-machine/*", "heap/*", "safety/*"),
    "threads": ("parallel/*", "threads/*", "memory/*:f32*", "memory/*:i32*", "memory/*:u8*"),
    "programs": ("programs/*", "gradients/*program*", "gradients/*step*", "gradients/*siblings*"),
    "blocks": ("simt/*",),
    "locals": ("gradients/shared-locals*:f64*",),
    "returned": ("gradients/*returned*", "gradients/*seed*", "gradients/*linked*"),
    "errors": ("errors/*", "control/*debug*", "control/*print*"),
}


@pytest.mark.parametrize("topics", TOPICS)
def test_cases_pass_on_a_device_that_the_host_plays(topics):
    entries = select(collect(), TOPICS[topics])
    chosen = TOPICS[topics] if BY_NIGHT else [entry.id for entry in one_of_each(entries)]
    patterns = [word for pattern in chosen for word in ("-k", pattern)]
    command = [sys.executable, "-m", "adstack.tools.cli", "conformance", "-b", "cuda", "-j", "1", *patterns]
    environment = {**os.environ, "ADSTACK_CUDA_DEVICE": "host"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout
    assert "emulated" in done.stdout
