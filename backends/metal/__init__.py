"""The metal target (Apple GPUs). No code yet: the registry reports it as unavailable and says so.

Imports adstack.ir, adstack.errors and the runtime's protocol.
"""
