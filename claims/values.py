"""Frozen, slotted dataclasses that take no time to define.

`dataclasses` writes the methods of each class as text and compiles them whenever a program starts: half a millisecond
a class and more, forty classes a command, a quarter of all that a command takes. Here is the part of it that `claims`
uses, with methods that are closures over the names of the fields: 20 µs a class. To a type checker it is the real one,
and to whatever inspects a class (`dataclasses.fields`, `replace`, `is_dataclass`) it looks like one.

Not here: inheritance of fields, `ClassVar`, `InitVar`, ordering, `kw_only`, pickling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace

__all__ = ["dataclass", "field", "replace"]

_NOTHING: Any = object()


class _Field:
    """How one field is filled in and what it takes part in."""

    __slots__ = ("compare", "default", "factory", "init", "repr")

    def __init__(self, default: Any, factory: Callable[[], Any] | None, init: bool, repr: bool, compare: bool) -> None:
        self.default = default
        self.factory = factory
        self.init = init
        self.repr = repr
        self.compare = compare

    def fill(self, what: str) -> Any:
        """The value where none was given. Raises TypeError where one has to be."""
        if self.factory is not None:
            return self.factory()
        if self.default is _NOTHING:
            raise TypeError(f"{what} is missing")
        return self.default

    def inspected(self) -> Any:
        """The same as the standard library has it."""
        import dataclasses

        settings: dict[str, Any] = {"init": self.init, "repr": self.repr, "compare": self.compare}
        if self.factory is not None:
            settings["default_factory"] = self.factory
        elif self.default is not _NOTHING:
            settings["default"] = self.default
        return dataclasses.field(**settings)


class _Inspected:
    """`__dataclass_fields__`, made by `dataclasses` itself for whoever asks."""

    __slots__ = ("_original",)

    def __init__(self, original: type) -> None:
        self._original = original

    def __get__(self, instance: object, owner: type) -> Any:
        import dataclasses

        original = self._original
        twin: Any = type(original.__name__, (), {"__annotations__": original.__annotations__})
        for name in original.__annotations__:
            default = original.__dict__.get(name, _NOTHING)
            if default is not _NOTHING:
                setattr(twin, name, default.inspected() if isinstance(default, _Field) else default)
        return dataclasses.dataclass(twin).__dataclass_fields__


def _dataclass(*, frozen: bool = False, slots: bool) -> Callable[[type], type]:
    assert slots, "every value has slots"
    return lambda original: _build(original, frozen)


def _field(
    *,
    default: Any = _NOTHING,
    default_factory: Callable[[], Any] | None = None,
    init: bool = True,
    repr: bool = True,
    compare: bool = True,
) -> _Field:
    return _Field(default, default_factory, init, repr, compare)


def _replace(value: Any, /, **changes: Any) -> Any:
    kept = {name: getattr(value, name) for name in type(value).__match_args__ if name not in changes}
    return type(value)(**kept, **changes)


def _build(original: type, frozen: bool) -> type:
    """The class once more, with slots: they cannot be added to one that exists."""
    members = dict(original.__dict__)
    fields: dict[str, _Field] = {}
    for name in original.__annotations__:
        default = members.pop(name, _NOTHING)
        fields[name] = default if isinstance(default, _Field) else _Field(default, None, True, True, True)
    for name in ("__dict__", "__weakref__"):
        members.pop(name, None)
    members |= {
        "__qualname__": original.__qualname__,
        "__slots__": tuple(fields),
        "__match_args__": tuple(name for name, one in fields.items() if one.init),
        "__dataclass_fields__": _Inspected(original),
        "__repr__": members.get("__repr__") or _repr([name for name, one in fields.items() if one.repr]),
        **_comparison(_key([name for name, one in fields.items() if one.compare]), frozen),
    }
    if frozen:
        members["__setattr__"] = members["__delattr__"] = _refuse
    made = type(original)(original.__name__, original.__bases__, members)
    made.__init__ = _init(made, fields)  # type: ignore[misc]  # the slots that it fills exist only now
    return made


def _init(made: type, fields: dict[str, _Field]) -> Callable[..., None]:
    names = tuple(fields)
    taken: tuple[str, ...] = made.__match_args__  # type: ignore[attr-defined]
    whole = len(names) if taken == names else -1
    # A frozen class refuses assignments: the slots' own setters do not ask it.
    setters = [made.__dict__[name].__set__ for name in names]
    after = getattr(made, "__post_init__", None)

    def completed(args: Sequence[Any], given: dict[str, Any]) -> list[Any]:
        """A value for each field. Raises TypeError for what does not fit."""
        if len(args) > len(taken):
            raise TypeError(f"{made.__name__} takes {len(taken)} values, not {len(args)}")
        values = dict(zip(taken, args, strict=False))
        wrong = [name for name in given if name in values or name not in taken]
        if wrong:
            raise TypeError(f"{made.__name__}: {', '.join(wrong)} is given twice or unknown")
        values |= given
        return [values[name] if name in values else fields[name].fill(f"{made.__name__}.{name}") for name in names]

    def __init__(self: object, *args: Any, **given: Any) -> None:  # noqa: N807 - it becomes that
        if given or len(args) != whole:
            args = completed(args, given)  # type: ignore[assignment]
        for put, value in zip(setters, args, strict=True):
            put(self, value)
        if after is not None:
            after(self)

    return __init__


def _comparison(key: Callable[[Any], Any], frozen: bool) -> dict[str, Any]:
    def __eq__(self: object, other: object) -> Any:  # noqa: N807
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: object) -> int:  # noqa: N807
        return hash(key(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


def _key(names: Sequence[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda value: ()


def _repr(names: Sequence[str]) -> Callable[[object], str]:
    return lambda self: f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


def _refuse(self: object, name: str, value: object = None) -> NoReturn:
    raise AttributeError(f"cannot assign to field {name!r}")


if not TYPE_CHECKING:
    dataclass, field, replace = _dataclass, _field, _replace
