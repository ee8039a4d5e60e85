"""Where the time of a program goes: Python, machine code of calls, the device, compiling; by kernel and gradient.

    with qd.profiler.Profile() as profile:
        train()
    print(profile.report())

profile.py   Profile: measures while it is entered
spans.py     nested stretches of time, each with its own share
seams.py     which functions are timed, and as what
reasons.py   why Python served a call, and not machine code
report.py    what is told: rows, fallbacks, totals

While no profile is entered, nothing of this is called: functions are wrapped on entering, and put back on leaving.
May import: everything below.
"""

from ..absent import missing as _missing
from .profile import Profile
from .report import Fallback, Report, Row
from .spans import KINDS

__all__ = ["KINDS", "Fallback", "Profile", "Report", "Row"]


def __getattr__(name: str) -> object:
    """The error for a name that is not there, which says what to use."""
    raise _missing("qd.profiler", name, __all__)


def __dir__() -> list[str]:
    """The names that users are to use."""
    return [*__all__]
