"""Apple's GPUs: programs as source of the Metal Shading Language (`codegen_msl`), compiled where they run.

capability.py   which device there is, and what it does not do
layout.py       memory of a device
codegen.py      a program's source
toolchain.py    the source compiled: by the host's clang, behind a header that plays the language's standard library
runtime.py      the backend

driver.py is what the backend asks of a device: native.py is one of Apple's, through pyobjc-framework-Metal, and
emulator.py the host playing one, with shim.py as that header and lanes.py as the threads of a threadgroup.
executable.py is a compiled program with what its launches use and report.

May import: codegen_msl, backends.shared, adstack.ir, adstack.errors, the runtime's protocol.
"""
