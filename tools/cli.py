"""The entry point of the `adstack` command."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command. What it imports takes a while, in which an interrupt ends it as one does later on."""
    try:
        from .commands import run

        run()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("\nAborted!\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
