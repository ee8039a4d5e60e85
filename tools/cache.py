"""`adstack cache`: the compiled kernels that are kept on disk."""

from __future__ import annotations

from typing import Final

import click

from adstack import inspection

from .terminal.console import console

__all__ = ["cache"]

EPILOG: Final = """\b
Examples:
  adstack cache info                        where it is, and how large
  adstack cache clear                       compile everything anew from now on
  ADSTACK_CACHE_DIR=/tmp/k adstack cache info   another folder
"""
MIB: Final = 1024 * 1024


@click.group(epilog=EPILOG)
def cache() -> None:
    """Look at the compiled kernels that are kept on disk, or remove them.

    They are in the folder that ADSTACK_CACHE_DIR names, else in the user's cache folder. It is always safe to clear.
    """


@cache.command()
def info() -> None:
    """Say where the cache is, how many kernels it has and how much space they take.

    Beside them it has files about devices: their drivers' compiled code, and what was found out about them.
    """
    cached = inspection.cache()
    out = console()
    for name, text in (
        ("folder", cached.folder),
        ("kernels", str(cached.entries)),
        ("size", f"{cached.bytes / MIB:.1f} MiB of at most {cached.most / MIB:.0f} MiB"),
        ("devices", f"{cached.device_files} files, {cached.device_bytes / MIB:.1f} MiB"),
    ):
        out.print(f"{name:8} {text}", markup=False, soft_wrap=True)
    if cached.refusal:
        out.print(f"refused  {cached.refusal}", markup=False, soft_wrap=True)


@cache.command()
def clear() -> None:
    """Remove all kernels that are kept, and the files about devices."""
    refusal = inspection.cache().refusal
    if refusal:
        raise click.ClickException(refusal)
    kernels, files = inspection.clear_cache()
    about = f", {files} file{'s' if files != 1 else ''} about devices" if files else ""
    console().print(f"{kernels} kernel{'s' if kernels != 1 else ''}{about} removed", markup=False)
