"""Kernels: functions that are compiled and launched."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping
from typing import Any, Final, cast
from weakref import ref

from ..absent import with_absent
from ..data.placement import PLACED
from ..errors import (
    AdstackCallError,
    AdstackError,
    AdstackMemoryError,
    AdstackRuntimeError,
    AdstackSyntaxError,
    InternalError,
)
from ..launch.arguments import Call, Parameter
from ..launch.parameters import Signature
from ..launch.results import result_spec
from ..launch.specialisation import Specialisation, specialise
from ..runtime import state
from ..runtime.memory.copying import ByName
from ..runtime.plans import REFUSED
from ..runtime.protocol.following import Follower
from ..runtime.protocol.shortcuts import Argument, kind_of
from ..runtime.threads.guards import ASKING, EPOCH, GUARD
from ..runtime.threads.recording import RECORDERS, in_charge
from ..runtime.threads.runtime_lock import RUNTIME_LOCK
from ..runtime.threads.scopes import settle
from ..values.protocol import current_emitter
from ..values.specs import Request, Spec
from . import as_graph
from .announced import Announced
from .followers import Followers
from .gradient import Gradient
from .noted import noted, with_tangents
from .recompiled import warn_of_changes

__all__ = ["BoundKernel", "Kernel", "Shown"]

MOST: Final = 32
"""How many specialisations are kept that differ in nothing but attributes that were baked in."""
MOST_SHORTCUTS: Final = 8
"""How many kinds of calls are tried one after another in machine code."""

_FAILURES = (AdstackError, RecursionError, MemoryError, ctypes.ArgumentError)
"""What a call may fail with; ctypes wraps a MemoryError in an error of its own."""


class Shown:
    """A context in which errors of the user's are shown as a kernel shows those of its calls."""

    __slots__ = ("_kernel",)

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, _FAILURES) and not isinstance(error, InternalError):
            shown = self._kernel.shown_as(error)
            raise shown from shown.__cause__


@with_absent("a kernel")
class Kernel(ByName):
    """A kernel: compiled when it is first called with arguments of a new kind, launched by each call.

    Attributes:
        __call__: what serves a call: `serve`, or a shortcut of the backend which leaves the rest to it.
        announced: calls that Python announces, and machine code makes.
        shown: a context in which errors of the user's are shown as `serve` shows them.
    """

    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Any]
    with_tangents = staticmethod(with_tangents)

    def __init__(self, function: Callable[..., object], around: Mapping[str, object], graph: bool = False) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.signature = Signature(function, around)
        self.graph = graph
        self.shown = Shown(self)
        self._epoch = 0
        self._parameters: tuple[Parameter, ...] = ()
        self._takes: tuple[Callable[[object, Call], None], ...] = ()
        self._returns: Spec | None = None
        self._compiled: dict[tuple[object, ...], tuple[Specialisation, ...]] = {}
        self._shortcuts: set[tuple[object, ...]] = set()
        self._shortcuts_epoch = 0
        self._compilations = 0
        self._followers = Followers()
        self.announced = Announced()
        self.__call__ = self.serve
        self._gradient = Gradient(self)

    def __get__(self, owner: object, owner_type: object = None) -> Any:
        return self if owner is None or not self.signature.is_method else BoundKernel(self, owner)

    def serve(self, *args: object, **kwargs: object) -> object:
        """Serve a call of any kind; if several threads call kernels, one after another.

        Takes and returns what the kernel does, and raises AdstackError, one of its kinds, for what goes wrong in it.
        """
        ended = state.ENDED[0]
        try:
            with RUNTIME_LOCK.lock:
                if state.ENDED[0] != ended:
                    self.check_unended(ended)
                return self._call(args, kwargs)
        except InternalError:
            raise
        except _FAILURES as error:
            shown = self.shown_as(error)
            raise shown from shown.__cause__

    def _short_of_stack(self) -> AdstackRuntimeError:
        return AdstackRuntimeError(
            f"Python's stack is too small to compile {self.signature.name} here",
            do="call it first where fewer functions are under way, or raise sys.setrecursionlimit()",
        )

    def check_unended(self, ended: int) -> None:
        """Raise AdstackRuntimeError if the runtime has ended since so many had, while a call waited for the lock."""
        if state.ENDED[0] != ended:
            state.check_unended(ended, f"{self.signature.name} was called")

    def shown_as(self, error: Exception) -> Exception:
        """The error to raise in place of one of `_FAILURES`, with its cause."""
        if isinstance(error, AdstackError):
            # the way through the compiler or the backend says nothing about the user's mistake: the message does
            runtime = state.active()
            traced = runtime is not None and runtime.options.print_full_traceback
            return error if traced else error.with_traceback(None)
        if isinstance(error, ctypes.ArgumentError) and "MemoryError" not in str(error):
            return error
        shown = self._short_of_stack() if isinstance(error, RecursionError) else self._short_of_memory()
        shown.__cause__ = error
        return shown

    def _short_of_memory(self) -> AdstackMemoryError:
        return AdstackMemoryError(
            f"kernel {self.signature.name}: this process has no memory left to compile or to launch it",
            do="free memory, or raise the limits of the process, and call it again",
        )

    def _call(self, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        recorder = in_charge() if RECORDERS else None
        if recorder is not None and current_emitter() is None:
            return recorder.call(self, args, kwargs)
        if kwargs and (self._shortcuts or self.announced.calls):
            return self.__call__(*self._bound(args, kwargs))  # machine code knows arguments by their position
        for announced in self.announced.calls:
            result = announced.serve(args)
            if result is not REFUSED:
                return result
        compilations = self._compilations
        specialisation, call, runtime = self.prepared(args, kwargs)
        if self._compilations != compilations:
            return specialisation.launch(call)
        if self.graph and specialisation.graph is not False:
            return as_graph.launch(specialisation, call, runtime)
        result = specialisation.launch(call)
        if not call.loans or not call.lent:  # Python copies what is lent
            self._shorten(specialisation, args, kwargs)
        return result

    def _shorten(self, specialisation: Specialisation, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Let machine code serve calls like this one from now on, if it can."""
        if GUARD[ASKING]:
            settle()
        if self._shortcuts_epoch != GUARD[EPOCH]:
            self._shortcuts, self._shortcuts_epoch, self.__call__ = set(), GUARD[EPOCH], self.serve
            self._followers.uninstall()
        if specialisation.needs_python:
            self._announce(specialisation, lambda: self.described(self.positional(args, kwargs)))
            return
        if len(self._shortcuts) == MOST_SHORTCUTS:
            return
        described = self.described(self.positional(args, kwargs))
        if described is None:
            return
        kind = specialisation, *map(kind_of, described)
        if kind not in self._shortcuts:
            self._shortcuts.add(kind)
            self.__call__ = specialisation.shortcut(described, self.__call__) or self.__call__
        elif specialisation.records is not None and specialisation.records.arrays:
            self._announce(specialisation, lambda: described)  # machine code leaves it to Python: an array is watched

    def _announce(self, specialisation: Specialisation, describe: Callable[[], tuple[Argument, ...] | None]) -> None:
        """Let machine code serve calls like one that Python notes; `describe` tells its arguments."""
        self.announced.learn(specialisation, describe, self._looked_at)

    def _looked_at(self, specialisation: Specialisation, args: tuple[object, ...]) -> Call | None:
        """What a call passes; None if another specialisation serves it."""
        serving, call, _ = self.prepared(args, {})
        return call if serving is specialisation else None

    def follower(self, specialisation: Specialisation, args: tuple[object, ...]) -> Follower | None:
        """What serves calls like this one where they are the next ones of a sequence; None if nothing does."""
        return self._followers.follower(specialisation, self.described(args))

    def follow(self, follower: Follower) -> None:
        """Let it serve calls before all others do; all memory is still there."""
        self.__call__ = self._followers.installed(follower, self.__call__)

    def positional(self, args: tuple[object, ...], kwargs: dict[str, object]) -> tuple[object, ...]:
        """The arguments of a call in the order of the parameters; an error if they are not what the kernel takes."""
        return self._bound(args, kwargs) if kwargs or len(args) != len(self._takes) else args

    def described(self, args: tuple[object, ...]) -> tuple[Argument, ...] | None:
        """Arguments, one for each parameter, as machine code may take them; None if it can't."""
        arguments = []
        for parameter, value in zip(self._parameters, args, strict=True):
            argument = parameter.described(value)
            if argument is None:
                return None
            arguments.append(argument)
        return tuple(arguments)

    def _entered(self) -> state.Runtime:
        """The runtime in use; what was compiled for an earlier one is forgotten."""
        if current_emitter() is not None:
            raise AdstackSyntaxError(
                f"kernel {self.signature.name} is called inside a kernel",
                do="make it a @func, or call it from the host",
            )
        runtime = state.current()
        if runtime.epoch != self._epoch:
            self._restart(runtime)
        return runtime

    @property
    def grad(self) -> Gradient:
        """The kernel's reverse mode."""
        return self._gradient

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What it takes under the default types in force, one for each parameter."""
        self._entered()
        return self._parameters

    @property
    def returns(self) -> Spec | None:
        """What it returns under the default types in force; None if it returns nothing."""
        self._entered()
        return self._returns

    def stages(self, *args: object, **kwargs: object) -> dict[str, str]:
        """The text of the IR at each stage, for arguments like these: title -> text. Nothing is launched."""
        specialisation, _, runtime = self.prepared(args, kwargs)
        return specialisation.stages(runtime)

    def explain(self, *args: object, **kwargs: object) -> str:
        """How arguments like these are served: the specialisation, its tasks, its places. Nothing is launched."""
        from .explain import explain

        specialisation, _, runtime = self.prepared(args, kwargs)
        return explain(specialisation, runtime, self.signature.names)

    def prepared(
        self, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[Specialisation, Call, state.Runtime]:
        """The specialisation that would serve a call, what the call passes, and the runtime that it runs in."""
        runtime = self._entered()
        if kwargs or len(args) != len(self._takes):
            args = self._bound(args, kwargs)
        call = Call()
        for take, value in zip(self._takes, args, strict=True):
            take(value, call)
        for candidate in self._compiled.get(tuple(call.key), ()):
            if not candidate.captured or candidate.is_current():
                if candidate.placed != PLACED[0] or candidate.kernel.apart:
                    candidate = noted(candidate, call, runtime)
                return candidate, call, runtime
        return noted(self._compile(args, call, runtime), call, runtime), call, runtime

    def _restart(self, runtime: state.Runtime) -> None:
        """Forget what was compiled for an earlier runtime."""
        self._parameters = self.signature.parameters()
        self._takes = tuple(parameter.take for parameter in self._parameters)
        returns = self.signature.returns()
        self._returns = None if returns is None else result_spec(returns)
        self.drop()
        self._epoch = runtime.epoch
        runtime.adopt(self)

    def drop(self) -> None:
        """Forget what was compiled, and with it the memory it holds."""
        ended, self._compiled = self._compiled, {}
        self._unserve()
        for specialisation in (one for several in ended.values() for one in several):
            specialisation.end()

    def _compile(self, args: tuple[object, ...], call: Call, runtime: state.Runtime) -> Specialisation:
        specs = tuple(p.spec(value) for p, value in zip(self._parameters, args, strict=True))
        self._compilations += 1
        specialisation = specialise(Request(self.function, specs, self._returns, runtime.options), runtime)
        key = tuple(call.key)
        self._compiled[key] = (*self._compiled.get(key, ()), specialisation)[-MOST:]
        warn_of_changes(self.function, self._compiled[key])
        specialisation.life.then(functools.partial(_ended, ref(self), key, ref(specialisation)))
        return specialisation

    def forget(self, key: tuple[object, ...], specialisation: Specialisation) -> None:
        """A specialisation, kept under `key`, has ended."""
        others = tuple(one for one in self._compiled.get(key, ()) if one is not specialisation)
        if others:
            self._compiled[key] = others
        else:
            self._compiled.pop(key, None)
        self._unserve()
        specialisation.end()

    def _unserve(self) -> None:
        """Forget the shortcuts: calls go through `serve` again."""
        self._shortcuts = set()
        self.__call__ = self.serve
        self._followers.drop()
        self.announced.drop()
        self._gradient.drop()

    def _bound(self, args: tuple[object, ...], kwargs: dict[str, object]) -> tuple[object, ...]:
        """The arguments in the order of the parameters."""
        names = self.signature.names
        if len(args) > len(names):
            raise self._refused(f"Too many arguments: it takes {len(names)}, got {len(args)}")
        bound = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names:
                raise self._refused(f"Unexpected argument {name!r}")
            if name in bound:
                raise self._refused(f"Multiple values for argument {name!r}")
            bound[name] = value
        missing = [name for name in names if name not in bound]
        if missing:
            raise self._refused(f"Missing argument {', '.join(map(repr, missing))}")
        return tuple(bound[name] for name in names)

    def _refused(self, message: str) -> AdstackCallError:
        taken = ", ".join(self.signature.names)
        do = f"call it with {taken}" if taken else "call it without arguments"
        return AdstackCallError(f"{message} (kernel {self.signature.name}({taken}))", do=do)

    def __repr__(self) -> str:
        return f"<kernel {self.function.__qualname__}>"


def _ended(kernel: ref[Kernel], key: tuple[object, ...], specialisation: ref[Specialisation]) -> None:
    """What a specialisation was made for is gone."""
    owner, ended = kernel(), specialisation()
    if owner is not None and ended is not None:
        owner.forget(key, ended)


class BoundKernel(functools.partial[Any]):
    """A kernel that is a method, with its object."""

    __slots__ = ()

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        kernel: Kernel = self.func  # type: ignore[assignment] # asked time and again: no `cast`
        return kernel

    @property
    def owner(self) -> Any:
        """Its object."""
        return self.args[0]

    @property
    def grad(self) -> Gradient:
        """The kernel's reverse mode."""
        return Gradient(self.func, self.args[:1])  # type: ignore[arg-type]

    def stages(self, *args: object, **kwargs: object) -> dict[str, str]:
        """See `Kernel.stages`."""
        return cast(dict[str, str], self.kernel.stages(self.owner, *args, **kwargs))

    def explain(self, *args: object, **kwargs: object) -> str:
        """See `Kernel.explain`."""
        return cast(str, self.kernel.explain(self.owner, *args, **kwargs))

    def __repr__(self) -> str:
        return f"<bound {self.kernel!r}>"
