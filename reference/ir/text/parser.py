"""Reads the text form of IR that `printer` writes: `parse_ir(text)`.

Made to be written by hand as well: result types may be left out where they follow from the operands, locations always,
`#` starts a comment. The parser knows the grammar; whether the IR makes sense is for `verify` to say.
"""

from __future__ import annotations

from ...errors import IRError
from ..functions import builtin
from ..ops import FOR, TABLE
from ..structure import Function, Kernel, Op, Place, Program, Region, Task, Value
from ..types import DType, Type
from .forms import FORMS, Draft, plain
from .reader import Reader

__all__ = ["parse_ir"]


def parse_ir(text: str, file: str = "<ir>") -> Kernel | Program:
    """The kernel or program that `text` describes; AdstackSyntaxError shows where it does not."""
    return Parser(text, file).root()


class Parser(Reader):
    """A recursive descent over the tokens."""

    def root(self) -> Kernel | Program:
        """The kernel or program that the text is, after the functions that it defines. IRError says where it is
        neither.
        """
        while self.sees("function"):
            self._function()
        root = self._kernel() if self.expect("kernel", "program") == "kernel" else self._program()
        self.end_of_line()
        if self.token.kind != "end":
            self.fail(f"expected the end of the text, got {self.token}")
        return root

    # ---- kernels, programs, tasks

    def _function(self) -> None:
        self.take()
        token, (self.env, self.visible) = self.token, ({}, [])
        name, args = self.symbol("the function's name"), self._params()
        returns = self._returns()
        self._open()
        function = Function(name, self._body(args))
        self.end_of_line()
        if name in self.functions or builtin(name):
            self.fail(f"@{name} is defined already", token)
        if not function.body.ops or function.returns != list(returns):
            self.fail(f"@{name} must yield what it says: {', '.join(map(str, returns))}", token)
        self.functions[name] = function
        self.env, self.visible = {}, []

    def _kernel(self) -> Kernel:
        name, args = self.symbol("the kernel's name"), self._params()
        returns, loc = self._returns(), self.loc()
        self._open()
        self._place_lines()
        return Kernel(name, self._body(args), self.places, returns, loc)

    def _program(self) -> Program:
        name = self.symbol("the program's name")
        params = tuple(self.many(self.dtype, ")")) if self.accept("(") else ()
        returns = self._returns()
        results: list[str] = []
        if self.accept("results"):
            self.expect("(")
            results = self.many(lambda: self.symbol("a result place"), ")")
        loc = self.loc()
        self._open()
        self._place_lines()
        tasks = []
        while not self.accept("}"):
            tasks.append(self._task())
        return Program(name, tasks, self.places, returns, tuple(results), loc, params)

    def _task(self) -> Task:
        self.expect("task", "}")
        self.env, self.visible = {}, []
        name, kind = self.symbol("the task's name"), self.expect(*Task.KINDS)
        sizes: list[int] = []
        if self.accept("sizes"):
            self.expect("(")
            sizes = self.many(lambda: self.integer("an element of the depths"), ")")
        args = self._params()
        self._open()
        task = Task(name, self._body(args), kind, tuple(sizes))
        self.end_of_line()
        return task

    def _body(self, args: list[Value]) -> Region:
        region = Region(args)
        self.ops(region)
        return region

    def _params(self) -> list[Value]:
        self.expect("(")
        return self.many(self._param, ")")

    def _param(self) -> Value:
        token = self.kind("value", "a parameter (like %x)")
        self.expect(":")
        return self.define(token.text, self.type())

    def _returns(self) -> tuple[DType, ...]:
        if not self.accept("->"):
            return ()
        self.expect("(")
        return tuple(self.many(self.dtype, ")"))

    def _open(self) -> None:
        self.expect("{")
        self.end_of_line()

    def _place_lines(self) -> None:
        while self.accept("place"):
            token = self.token
            place = self._place()
            if place.name in self.places:
                self.fail(f"@{place.name} is declared twice", token)
            self.places[place.name] = place
            self.end_of_line()

    def _place(self) -> Place:
        name = self.symbol("the place's name")
        self.expect(":")
        dtype = self.dtype()
        self.expect("[")
        shape = tuple(self.many(self._extent, "]"))
        kind = self.expect(*Place.KINDS)
        role, of = "primal", None
        if self.sees(*Place.ROLES):
            role = self.take().text
            self.expect("of")
            of = self.symbol("the primal's name")
        label = self.string("a label in quotes") if self.accept("label") else ""
        return Place(name, dtype, shape, kind, role, of, label, bool(self.accept("relaxed")))

    def _extent(self) -> int | None:
        return None if self.accept("?") else self.integer("an extent, or ? for one known at launch")

    # ---- ops and regions

    def ops(self, region: Region) -> None:
        """See `Reader.ops`."""
        while not self.accept("}"):
            region.ops.append(self._op())
            if self.token.kind == "newline":
                self.take()

    def _op(self) -> Op:
        names = self._result_names()
        word = self.kind("word", "an operation")
        if word.text not in TABLE:
            self.fail(f"unknown operation {word.text}", word)
        draft = Draft(TABLE[word.text])
        guard = self._guard() if draft.row.guards and self.accept("guarded") else None
        way = self.kind("word", "a way to add up").text if draft.row.sums and self.accept("sums") else None
        team = self._team(draft) if draft.row.teams and self.accept("team") else None
        FORMS.get(draft.row, plain)(self, draft)
        optional = (("guarded", guard), ("sums", way), ("team", team))
        draft.attrs |= {name: value for name, value in optional if value is not None}
        if not draft.regions:
            draft.loc = self.loc()
        if self.token.kind not in ("newline", "end") and not self.sees("}"):
            self.fail(f"expected the end of the line, got {self.token}")
        types = self._inferred(draft) if draft.types is None else draft.types
        if names and len(names) != len(types):
            self.fail(f"{word.text} has {len(types)} results, got {len(names)} names", word)
        results = [self.define(n, t) for n, t in zip(names, types, strict=True)] if names else [Value(t) for t in types]
        return Op(draft.row, draft.operands, draft.attrs, results, draft.regions, draft.loc)

    def _guard(self) -> tuple[int, ...]:
        """The axes on which an access may be outside."""
        self.expect("(")
        return tuple(self.many(lambda: self.integer("an axis"), ")"))

    def _team(self, draft: Draft) -> int | str:
        """How many threads a loop over threads has, or what they do with an array."""
        if draft.row is FOR:
            return self.integer("how many threads a block has")
        return self.kind("word", "what an array of a block is").text

    def _inferred(self, draft: Draft) -> list[Type]:
        try:
            return draft.inferred()
        except IRError as error:
            self.fail(error.message, self.source.tokens[self.at - 1])

    def _result_names(self) -> list[str]:
        if self.token.kind != "value":
            return []
        names = [self.take().text]
        while self.accept(","):
            names.append(self.kind("value", "the name of a result").text)
        self.expect("=")
        return names
