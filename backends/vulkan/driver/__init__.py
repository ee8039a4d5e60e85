"""Vulkan itself: the loader's functions, the instance with the validation layer, what devices have, and what a
pipeline is.

May import: adstack.errors and adstack.runtime.threads.processes.
"""
