"""What the toy device can do: all that the interpreter can."""

from __future__ import annotations

from adstack.runtime.protocol.backend import Capabilities, Probe

GAPS: tuple[tuple[str, str], ...] = ()
CAPABILITIES = Capabilities("toy", "emulated", "the interpreter, at a distance", claims=True, races=True)


def probe(device: str = "") -> Probe:
    return CAPABILITIES
