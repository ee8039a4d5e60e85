"""Programs that run the rows in one implementation each, under the interpreter that has it.

They import that implementation, numpy and nothing else: what is measured must not depend on adstack being there.
"""
