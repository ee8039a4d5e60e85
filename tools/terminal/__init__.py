"""What the subcommands of `adstack` share at the terminal.

console: where text goes, with colours or without. pythons: the option that names an interpreter per peer.
extras: options that take a library which may be missing.

May import: click and rich. Nothing of adstack.
"""
