"""Text that subjects, drivers and messages bring along, made fit for terminals, JSON, XML and HTML."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str) -> str:
    r"""The text with every character that can't be shown, line ends and tabs aside, written as Python writes it: \x1b.

    Control characters steer terminals and are illegal in XML; lone surrogates are in no encoding.
    """
    text = text.replace("\r\n", "\n")
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)
