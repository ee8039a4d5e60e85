"""`python -m adstack.tools.site FOLDER`: builds the site there."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import click

from .build import BuildError, built, published, sources
from .links import broken, counted
from .pages import ROOT


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--asv/--no-asv", default=None, help="With asv's pages. Default: in a clone.")
def main(folder: Path, asv: bool | None) -> None:
    """Build the static site into FOLDER, from what is committed, and check its links.

    The extra [site] has what that takes. Exit status 1 if a page can't be made, or a link leads nowhere.
    """
    start = time.monotonic()
    with_asv = (ROOT / ".git").exists() if asv is None else asv
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="site") as scratch:
        source = Path(scratch, "source")
        source.mkdir()
        try:
            if with_asv:
                published(folder.resolve() / "asv", Path(scratch))
            sources(source, folder.resolve() / "asv" if with_asv else None)
            built(source, folder.resolve())
        except BuildError as error:
            raise click.ClickException(str(error)) from error
    lost = broken(folder.resolve())
    pages, links = counted(folder.resolve())
    click.echo(f"{folder}: {pages} pages, {links} links, {time.monotonic() - start:.0f} s")
    if lost:
        raise click.ClickException("links that lead nowhere:\n" + "\n".join(lost))


if __name__ == "__main__":
    main()
