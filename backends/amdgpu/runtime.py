"""An AMD device as a backend. Nothing launches kernels yet: what there is says so."""

from __future__ import annotations

from adstack.errors import BackendUnavailableError
from adstack.runtime.protocol.backend import Backend, Probe, Unavailable

from . import capability

__all__ = ["open_device", "probe"]


def probe(device: str = "") -> Probe:
    """See `capability.probe`."""
    return capability.probe(device)


def open_device(device: str = "") -> Backend:
    """The device that is asked for. BackendUnavailableError, always, as none can be used yet."""
    probed = capability.probe(device)
    assert isinstance(probed, Unavailable)
    raise BackendUnavailableError(probed.reason, do=probed.fix)
