"""The levels of fields that were made with a shape of their own: `x.parent()` of such a field, and `x.snode`."""

from __future__ import annotations

from ..values.calling import methods_take
from .fields import Field
from .placement import LEVELS
from .snode import Leaf, SNode, root

__all__ = ["OwnLevel"]


@methods_take
class OwnLevel(SNode):
    """The dense level below the root in which a field stands; it ends with the field if nothing else is there."""

    def __init__(self, field: Field) -> None:
        super().__init__(root.tree, dict(enumerate(field.shape)), root)
        self._fields.append(field)
        self._things.append(field)

    def child_level(self, kind: str, axes: object, dimensions: object) -> SNode:
        """See `SNode.child_level`."""
        root.adopt(self)
        return super().child_level(kind, axes, dimensions)

    def place(self, *things: object, offset: object = None) -> SNode:
        """See `SNode.place`."""
        root.adopt(self)
        return super().place(*things, offset=offset)


LEVELS.append(lambda field: Leaf(OwnLevel(field), field))
