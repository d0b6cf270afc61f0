"""Tessellations as files describe them, and users' own by name: `rings:Rings`, `rings:Rings:rings=5,sectors=8`.

Files themselves are in `files`, for centroids, and in `tesselite.archive.file`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tesselite.base.arrays import Floats
from tesselite.base.checks import is_whole
from tesselite.base.importing import import_name, name_of
from tesselite.base.trust import is_import_agreed
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.grid import GridTessellation
from tesselite.tessellation.kind import Niches, OnIteration
from tesselite.tessellation.protocol import Tessellation, checked_tessellation
from tesselite.tessellation.provisional import Provisional
from tesselite.tessellation.voronoi import VoronoiTessellation


def description_of(tessellation: Tessellation) -> dict[str, Any]:
    """A tessellation as JSON, but for its space and its block."""
    if type(tessellation) is _BUILT_IN.get(tessellation.kind):
        return {"kind": tessellation.kind, **tessellation.to_dict()}
    kind = type(tessellation)
    name = name_of(kind, kind.__module__, kind.__name__)
    return {"kind": "own", "name": name or "", "arguments": tessellation.to_dict() if name else {}}


def from_description(about: dict[str, Any], space: FeatureSpace, block: Floats | None) -> Tessellation:
    """The tessellation of this space that `description_of` described."""
    if kind := _BUILT_IN.get(about["kind"]):
        return kind.from_dict(space, {**about, "centroids": block})
    if not about.get("name"):
        raise ValueError("the file does not hold its tessellation, which is a custom class; pass it to load")
    return _made(class_of(about["name"]), space, about["arguments"])


def class_of(name: str, *, asked: bool = False) -> type[Tessellation]:
    """The class that module:Class names; ValueError if there is none.

    Importing a module runs it, and the name may come from anybody's file. So it is imported only if that is what
    was `asked` for, or if this user has agreed to it; what this process has imported already is used.
    """
    module, _, attribute = name.partition(":")
    found = getattr(sys.modules.get(module), attribute, None)
    if found is None:
        if not asked and not is_import_agreed(name):
            raise ValueError(
                f"its niches are those of {name}, a custom class, which is imported only if you have run it "
                "before or pass --trust; in Python, import it yourself, or pass the tessellation"
            )
        found = import_name("tessellation", name)
    if not (isinstance(found, type) and issubclass(found, Tessellation)):
        raise ValueError(f"tessellation: expected {name} to be a subclass of tesselite.Tessellation, got {found!r:.80}")
    return found


def by_name(text: str, space: FeatureSpace) -> Tessellation:
    """The tessellation of a space that a text names, such as rings:Rings or rings:Rings:rings=5,sectors=8."""
    module, _, rest = text.partition(":")
    attribute, _, arguments = rest.partition(":")
    if not attribute.isidentifier():
        raise ValueError(f"tessellation: expected module:Class, as in rings:Rings:rings=5, got {text!r}")
    return _made(class_of(f"{module}:{attribute}", asked=True), space, _arguments(arguments))


def _made(kind: type[Tessellation], space: FeatureSpace, about: dict[str, Any]) -> Tessellation:
    try:
        return checked_tessellation(kind.from_dict(space, about))
    except (TypeError, LookupError) as error:
        raise ValueError(f"tessellation: {kind.__name__} cannot be made from {about} ({error})") from None


def _arguments(text: str) -> dict[str, Any]:
    if text.startswith("{"):
        try:
            return dict(json.loads(text))
        except ValueError as error:
            raise ValueError(f"tessellation: cannot read the arguments {text!r} ({error})") from None
    found = {}
    for word in filter(None, text.split(",")):
        name, _, value = word.partition("=")
        try:
            found[name.strip()] = json.loads(value)
        except ValueError:
            found[name.strip()] = value
    return found


_BUILT_IN: dict[str, type[Tessellation]] = {
    kind.kind: kind for kind in (GridTessellation, VoronoiTessellation, Provisional)
}


@dataclass(frozen=True)
class Own(Niches):
    """Niches of a user's class, imported by `name`, module:Class, and made from `arguments`."""

    name: str
    arguments: dict[str, Any] = field(hash=False)
    n_niches: int
    n_features: int
    fingerprint: str
    tessellation: Tessellation | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, tessellation: Tessellation) -> Own:
        """The niches of this tessellation; without a name they cannot be stored in a folder."""
        kind = type(tessellation)
        name = name_of(kind, kind.__module__, kind.__name__) or ""
        about = json.loads(json.dumps(tessellation.to_dict())) if name else {}
        n_niches, n_features = int(tessellation.n_niches), tessellation.space.n
        return cls(name, about, n_niches, n_features, tessellation.fingerprint(), tessellation)

    @property
    def known_fingerprint(self) -> str | None:
        return self.fingerprint

    @property
    def imported(self) -> str:
        return self.name

    def tessellate(
        self, space: FeatureSpace, seed: int, threads: int | None = None, on_iteration: OnIteration | None = None
    ) -> Tessellation:
        found = self.tessellation or _made(class_of(self.name), space, self.arguments)
        if found.space != space:
            raise ValueError(f"tessellation: expected one of {space!r}, got {found.space!r}")
        return found

    def check_storable(self) -> None:
        """ValueError unless another process can find it again."""
        if not self.name:
            raise ValueError(
                "tessellation: its class cannot be imported by name, so a run folder cannot store it; define it at "
                "the top level of a module, or leave out the folder (out=None)"
            )
        if self.tessellation:
            again = _made(class_of(self.name), self.tessellation.space, self.arguments)
            if again.fingerprint() != self.fingerprint:
                raise ValueError(
                    f"tessellation: expected {self.name} to be the same when made again from to_dict(), "
                    f"{self.arguments}"
                )

    def count_features(self, folder: Path) -> int:
        return self.n_features

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "own",
            "name": self.name,
            "arguments": self.arguments,
            "n_niches": self.n_niches,
            "n_features": self.n_features,
            "fingerprint": self.fingerprint,
        }

    @classmethod
    def from_dict(cls, about: dict[str, Any]) -> Own:
        kinds = {"name": str, "arguments": dict, "n_niches": int, "n_features": int, "fingerprint": str}
        if not all(isinstance(about[name], kind) for name, kind in kinds.items()) or not is_whole(about["n_niches"], 1):
            raise TypeError(f"niches is {about!r}")
        return cls(**{name: about[name] for name in kinds})

    @property
    def label(self) -> str:
        return f"{self.n_niches:,} niches of {self.name or 'a class of its own'}"

    @property
    def construction(self) -> str:
        plain = all(isinstance(value, int | float) for value in self.arguments.values())
        words = [f"{name}={json.dumps(value)}" for name, value in self.arguments.items()]
        return ",".join(words) if plain else json.dumps(self.arguments)

    def command(self, folder: Path) -> list[str]:
        return ["--tessellation", ":".join(filter(None, (self.name, self.construction)))]
