"""From a kernel call to a dispatch: memory, launch plans, the backend protocol and the registry of backends.

Imports adstack.ir, adstack.transforms, adstack.sizing, adstack.interpreter and adstack.errors. It finds backends by name
through the registry and never imports one.
"""
