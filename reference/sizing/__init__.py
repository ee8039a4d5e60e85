"""How deep each adstack must be: size formulas, their evaluation and their caches.

Imports adstack.ir and adstack.errors, nothing else of adstack.
"""
