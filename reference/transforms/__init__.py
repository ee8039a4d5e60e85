"""IR to IR: one module, one public function and one contract per pass.

A pass imports adstack.ir and adstack.errors, nothing else of adstack.
"""
