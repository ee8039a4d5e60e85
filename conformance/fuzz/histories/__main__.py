"""Play many histories."""

from .play import main

main()
