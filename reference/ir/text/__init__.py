"""The text form of IR: `print_ir(kernel)` writes it, `parse_ir(text)` reads it back.

printer.py  one op per line; forms.py: how the operands, attributes and regions of each op are written
parser.py   cursor.py and lexer.py are the tokens that it reads

May import: ir, ir.verify, errors.
"""
