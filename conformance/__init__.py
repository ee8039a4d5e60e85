"""The conformance suite: what every implementation of the kernel language must do, and the tests of adstack itself.

`case` is the form of a case; `cases/` holds them, one page each; `harness/` runs each on each subject in isolation and
compares; `subjects/` says what can be run (adstack's backends, Quadrants, Taichi) and which gaps each is known to have;
`report/` shows the outcome. Uses adstack's public API, like a user; `case`, `cases/` and the worker side of `harness/`
import neither adstack nor anything but numpy, so that they also run where only another subject is installed.
"""
