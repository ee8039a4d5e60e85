"""All nodes of syntax trees."""

from __future__ import annotations

import ast

__all__ = ["nodes_of"]


def nodes_of(*roots: ast.AST) -> list[ast.AST]:
    """The nodes of some trees, each before those that stand in it, the trees side by side.

    It takes about half the time of `ast.walk`, which runs generators over the fields of each node.
    """
    nodes = [*roots]
    for node in nodes:  # which grows meanwhile
        values = node.__dict__
        for name in node._fields:
            value = values.get(name)
            if value.__class__ is list:
                nodes += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST):
                nodes.append(value)
    return nodes
