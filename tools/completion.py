"""`adstack completion`: what a shell needs to complete the command's words."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ["completion"]

EPILOG = """\b
Examples:
  adstack completion bash >> ~/.bashrc
  adstack completion zsh >> ~/.zshrc
  adstack completion fish > ~/.config/fish/completions/adstack.fish
"""


@click.command(epilog=EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that lets SHELL complete subcommands, options, cases and rules."""
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, "adstack", "_ADSTACK_COMPLETE").source())
