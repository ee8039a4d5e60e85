"""What the subcommands of `adstack` share at the terminal.

console: where text goes, with colours or without. pythons: the option that names an interpreter per peer.

May import: click and rich. Nothing of adstack.
"""
