"""IR to SPIR-V words, for vulkan.

Imports adstack.ir and adstack.errors; the targets import it, it imports none of them.
"""
