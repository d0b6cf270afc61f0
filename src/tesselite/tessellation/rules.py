"""The base of the records of niches that grow (`growing`) and of populations without niches (`population`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Self

from tesselite.base.arrow import read_about
from tesselite.base.checks import checked_count
from tesselite.base.numbers import as_float
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.kind import Niches, OnIteration
from tesselite.tessellation.provisional import Provisional
from tesselite.tessellation.revision import Revision

_EARLIER = {"n_samples": None, "axes": 10**9}  # defaults for the files of earlier versions


@dataclass(frozen=True, kw_only=True)
class Rule(Niches):
    """A frozen record of whole numbers, shares and switches that a plan holds; `kind` names it."""

    kind: ClassVar[str]
    apart: ClassVar[tuple[str, ...]] = ()  # fields that have options of their own on the command line

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _set_count(self, name: str, least: int = 1) -> None:
        self._set(name, checked_count(name, getattr(self, name), least=least))

    def _set_share(self, name: str, below: float) -> None:
        value = as_float(name, getattr(self, name), "a share of at least 0")
        if not 0.0 <= value < below:
            raise ValueError(f"{name}: expected a number of at least 0 and below {below:g}, got {value!r}")
        self._set(name, value)

    @property
    @abstractmethod
    def revision(self) -> Revision:
        """The rule at work; each search has one of its own."""

    def tessellate(
        self, space: FeatureSpace, seed: int, threads: int | None = None, on_iteration: OnIteration | None = None
    ) -> Provisional:
        """The initial tessellation: no niches, all solutions are kept."""
        return Provisional(space)

    def checked(self, space: FeatureSpace, seed: int) -> Self:
        """The same; ValueError if it does not work over this space."""
        return self

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **{part.name: getattr(self, part.name) for part in fields(self)}}

    @classmethod
    def from_dict(cls, about: dict[str, Any]) -> Self:
        names = {part.name for part in fields(cls)}
        earlier = {name: value for name, value in _EARLIER.items() if name in names and name not in about}
        return cls(**{name: about[name] for name in names - earlier.keys()}, **earlier)

    def count_features(self, folder: Path) -> int:
        return len(read_about(folder / "archive.parquet").get("tessellation", {}).get("space", {}).get("names", ()))

    @property
    def construction(self) -> str:
        """The options that differ from the default, in words."""
        return ", ".join(self._options()) or "default options"

    def text(self) -> str:
        """The text by which `by_text` makes it again."""
        return ":".join([self.kind, ",".join(self._options())]).rstrip(":")

    def _options(self) -> list[str]:
        """name=value of everything that is not as by default."""
        given = [part for part in fields(self) if part.name not in self.apart]
        given = [part for part in given if getattr(self, part.name) != part.default]
        return [f"{part.name}={_text(getattr(self, part.name))}" for part in given]


def by_text(option: str, kinds: Mapping[str, type[Any]], text: str, **given: Any) -> Any:
    """The rule of a text such as "expanding:every=2000,margin=0.02"; ValueError if it is not one of these kinds."""
    name, _, rest = text.partition(":")
    if name not in kinds:
        raise ValueError(f"{option}: expected one of {', '.join(kinds)}, got {name!r}")
    known = {part.name: part for part in fields(kinds[name]) if part.name not in kinds[name].apart}
    options: dict[str, Any] = {}
    for word in filter(None, rest.split(",")):
        key, _, value = word.partition("=")
        if key not in known:
            raise ValueError(f"{option}: expected options of {name} ({', '.join(known)}), got {key!r}")
        if isinstance(known[key].default, bool):
            options[key] = value in ("", "true", "True")
        else:
            options[key] = as_float(key, value, "a number")
    return kinds[name](**given, **options)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"
