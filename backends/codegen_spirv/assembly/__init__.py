"""SPIR-V words: a module with its types and constants, functions of instructions, and the text of both.

May import: adstack.ir and adstack.errors.
"""
