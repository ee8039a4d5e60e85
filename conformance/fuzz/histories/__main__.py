"""Play many histories."""

from .command import main

main()
