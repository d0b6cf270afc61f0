"""The texts that name emitters in settings.json and on the command line."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable
from typing import Any

from tesselite.emitters import operators
from tesselite.emitters.cma_emitters import cma_mae, cma_me
from tesselite.emitters.curious_parents import curiosity
from tesselite.emitters.emitter import Emitter
from tesselite.emitters.mixtures import bandit, mixture
from tesselite.emitters.uniform_parents import UNIFORM, uniform

_WITH_OPERATOR = {UNIFORM: uniform, "curiosity": curiosity}
_OF_SEVERAL = ("mixture", "bandit")
_PLUS = re.compile(r"(?<![\d.]e)\+")
_WITH_OPTIONS: dict[str, Callable[..., Emitter]] = {"cma_mae": cma_mae, "cma_me": cma_me}


def by_name(text: str) -> Emitter:
    """The emitter of a text: a name ("curiosity", "cma_mae"), with an operator or options, or an operator alone.

    "curiosity:gaussian:0.1", "cma_mae:alpha=0.01,emitters=15,batch=36", "cma_me:random_direction", "iso_line:0.01,0.2",
    "mixture:0.8@cma_mae:cm=0.3+0.2@gaussian:0.1", "bandit:cma_mae+iso_line:0.01,0.2".
    """
    name, _, rest = text.partition(":")
    if name in _WITH_OPERATOR:
        return _WITH_OPERATOR[name](operators.by_name(rest) if rest else None)
    if name in _WITH_OPTIONS:
        return _with_options(name, rest)
    if name in _OF_SEVERAL:
        return _several(name, rest)
    try:
        return uniform(operators.by_name(text))
    except operators.UnknownOperator:
        emitters = [*_WITH_OPERATOR, *_WITH_OPTIONS, *_OF_SEVERAL]
        raise ValueError(
            f"emitter: expected an emitter ({', '.join(emitters)}) or an operator ({', '.join(operators.NAMES)}), "
            f"got {name!r}{_suggestion(name, [*emitters, *operators.NAMES])}"
        ) from None


def _suggestion(word: str, known: list[str]) -> str:
    """The end of a message that names the known words that are most like this one, if any are."""
    alike = difflib.get_close_matches(word, known, 2, 0.7)
    return f"; did you mean {' or '.join(alike)}?" if alike else ""


def is_emitter(text: str) -> bool:
    """Whether a text names an emitter, and not an operator alone."""
    name = text.partition(":")[0]
    return name in _WITH_OPERATOR or name in _WITH_OPTIONS or name in _OF_SEVERAL


def _shares(text: str) -> list[tuple[str, str]]:
    """The shares, or "", and the names in the text of several emitters; a plus sign in a number separates nothing."""
    pairs = [part.strip().rpartition("@") for part in _PLUS.split(text)]
    return [(share, name) for share, _, name in pairs]


def _several(name: str, text: str) -> Emitter:
    """A mixture, whose emitters have shares, or a bandit, whose have none."""
    pairs = _shares(text)
    if not text or not all(part for _, part in pairs) or any(bool(share) != (name == "mixture") for share, _ in pairs):
        example = "0.8@cma_mae+0.2@gaussian:0.1" if name == "mixture" else "cma_mae+gaussian:0.1"
        raise ValueError(f"emitter: expected emitters as in {name}:{example}, got {text!r}")
    made = [(by_name(part), _value(share)) for share, part in pairs]
    return mixture(dict(made)) if name == "mixture" else bandit([part for part, _ in made])


def _with_options(name: str, text: str) -> Emitter:
    """An emitter made with options such as alpha=0.01,emitters=15; the first one may come without its name."""
    make = _WITH_OPTIONS[name]
    known = list(inspect.signature(make).parameters)
    options: dict[str, Any] = {}
    for i, word in enumerate(word.strip() for word in text.split(",") if word.strip()):
        option, equals, value = word.partition("=")
        if not equals and i == 0:
            option, value = known[0], word
        if option not in known or not value:
            raise ValueError(
                f"emitter: expected options of {name} as NAME=VALUE ({', '.join(known)}), got {word!r}"
                + ("" if option in known else _suggestion(option, known))
            )
        options[option] = _value(value)
    return make(**options)


def _value(text: str) -> Any:
    """A whole number, a number, or else the text itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def parts_of(text: str) -> list[str]:
    """Short names for the emitters of a mixture or a bandit, by its text; empty for any other emitter."""
    name, _, rest = text.partition(":")
    if name not in _OF_SEVERAL:
        return []
    texts = [part for _, part in _shares(rest)]
    short = [part.partition(":")[0] for part in texts]
    return short if len(set(short)) == len(short) else texts


def imported_operator(text: str) -> str:
    """The module:name of the operator that `by_name` would import for a text; empty if it would import none."""
    name, _, rest = text.partition(":")
    if name in _OF_SEVERAL:
        return next(filter(None, (imported_operator(part) for _, part in _shares(rest))), "")
    if name in _WITH_OPTIONS:
        return ""
    operator = rest if name in _WITH_OPERATOR else text
    return operator if operators.is_imported(operator) else ""


def emitter_of(variation: Any = None, emitter: Emitter | None = None) -> Emitter:
    """The emitter that is given, or uniform parents with the variation that is; ValueError for both."""
    if emitter is None:
        return uniform(variation)
    if variation is not None:
        raise ValueError("expected only one of variation and emitter, got both; an emitter brings its own variation")
    if not isinstance(emitter, Emitter):
        raise ValueError(f"emitter: expected one, such as tesselite.emitters.curiosity(), got {emitter!r:.80}")
    return emitter
