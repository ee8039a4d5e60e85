"""Why launches outside a tape can't be differentiated, as errors."""

from __future__ import annotations

from ...errors import AdstackDataAccessError
from ...launch.specialisation import Specialisation
from ...runtime.memory.ledger import LEDGER

__all__ = ["too_large", "unkept"]


def too_large(specialisation: Specialisation, wanted: int) -> AdstackDataAccessError:
    """A launch would have had to keep `wanted` bytes, more than is kept without being asked for."""
    title = specialisation.kernel.name
    return AdstackDataAccessError(
        f"{title}.grad() needs values that the launch has overwritten: {wanted} bytes, and at most {LEDGER.most} "
        "are kept without being asked for",
        loc=specialisation.kernel.loc,
        note=LEDGER.why,
        do="use init(ad_snapshot=True), record the launch with qd.ad.Tape, or write to another field",
    )


def unkept(specialisation: Specialisation) -> AdstackDataAccessError:
    """What the last launch found was not kept."""
    title = specialisation.kernel.name
    return AdstackDataAccessError(
        f"{title}.grad() needs values that its last launch has overwritten, or others since, which were not kept",
        loc=specialisation.kernel.loc,
        do=f"launch {title} on its own before {title}.grad(): once there are gradients, and outside of qd.ad.Tape, "
        "FwdMode and qd.graph()",
    )
