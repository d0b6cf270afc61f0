"""What every worker gets once: the problem, by its name if that can be imported, otherwise by value."""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tesselite.base.importing import importing

_KEPT = 32  # problems that a worker process keeps, in case several searches share it

_loaded: OrderedDict[str, Any] = OrderedDict()


@dataclass(frozen=True)
class Payload:
    """Bytes that become an object on a worker, and their digest, which identifies it there."""

    data: bytes
    digest: str

    @classmethod
    def of(cls, content: Any) -> Payload:
        """The payload for an object; a problem with an importable name is sent by name. Otherwise everything that a
        function refers to is sent too, so that functions of a notebook or a script work. Raises ValueError if that is
        not possible.
        """
        import cloudpickle

        from tesselite.problems import importable_name
        from tesselite.problems.problem import Problem

        spec = importable_name(content) if isinstance(content, Problem) else None
        try:
            inner = pickle.dumps(spec) if spec else cloudpickle.dumps(content)
        except Exception as error:  # pickling an object can raise anything
            raise ValueError(
                f"workers: {getattr(content, 'name', content)} cannot be sent to other processes "
                f"({type(error).__name__}: {error}); put it into its own module, with everything that it needs"
            ) from error
        data = pickle.dumps((bool(spec), _import_path(), inner))
        return cls(data, hashlib.sha256(data).hexdigest()[:32])

    def load(self) -> Any:
        """The object; loaded once in a process and then remembered."""
        if self.digest not in _loaded:
            _loaded[self.digest] = _load(self.data)
            while len(_loaded) > _KEPT:
                _loaded.popitem(last=False)
        _loaded.move_to_end(self.digest)
        return _loaded[self.digest]


def remembered(digest: str) -> Any:
    """The object of this digest; KeyError if this process has not loaded it."""
    return _loaded[digest]


def _import_path() -> list[str]:
    """Where modules are found here, so that a worker finds them as well."""
    return [str(Path(entry).absolute()) for entry in sys.path]  # '' is the current folder


def _load(data: bytes) -> Any:
    by_name, path, inner = pickle.loads(data)
    sys.path.extend(entry for entry in path if entry not in sys.path)
    with importing("the problem's module"):
        content = pickle.loads(inner)
    if by_name:
        from tesselite.problems import by_name as problem_by_name

        return problem_by_name(content)
    return content
