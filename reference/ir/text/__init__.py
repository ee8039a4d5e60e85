"""The text form of IR: `print_ir(kernel)` writes it, `parse_ir(text)` reads it back.

printer.py  one op per line; forms.py: how the operands, attributes and regions of each op are written
parser.py   kernels, programs and ops; reader.py: values, places and functions; cursor.py and lexer.py: tokens

May import: ir, ir.verify, errors.
"""
