"""The colours of elites: by fitness, by another column of their table, or by the user's values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.archive import Archive
from tesselite.report.labels import short, unit_of, with_unit
from tesselite.report.style import FITNESS_COLOURS

_NAMES_SHOWN = 20  # beside a colour bar


@dataclass(frozen=True)
class Colouring:
    """A value for each elite, in niche order, with its label and colours."""

    values: npt.NDArray[np.float64]
    label: str
    cmap: Any
    vmin: float | None = None
    vmax: float | None = None
    names: tuple[str, ...] = ()  # of the values 0, 1, ... where they stand for texts

    @classmethod
    def of(cls, archive: Archive, color: Any = "fitness", cmap: Any = None, vmin: Any = None, vmax: Any = None) -> Any:
        """By the name of a column of `archive.elites().columns()`, or values (m,); ValueError for anything else.

        Bright is good, whatever the direction of fitness, unless `cmap` says otherwise. Each text has its own colour,
        and no `vmin` or `vmax`.
        """
        elites, space = archive.elites(), archive.tessellation.space
        if isinstance(color, str):
            columns = elites.columns()
            if color not in columns:
                known = ", ".join(list(columns)[:12]) + (", ..." if len(columns) > 12 else "")
                raise ValueError(f"color: expected values, or a column of the archive ({known}), got {color!r}")
            values, label = np.asarray(columns[color]), color
        else:
            values, label = np.asarray(color), getattr(color, "name", None) or ""
            if values.shape != (len(elites),):
                raise ValueError(f"color: expected a value for each of {len(elites)} elites, got shape {values.shape}")
        low_is_good = label == "fitness" and archive.direction == "min"
        chosen = cmap if cmap is not None else f"{FITNESS_COLOURS}_r" if low_is_good else FITNESS_COLOURS
        label = dict(zip(space.names, space.titles, strict=True)).get(label, label)
        if values.dtype.kind in "SU" or (values.dtype.kind == "O" and any(isinstance(value, str) for value in values)):
            if vmin is not None or vmax is not None:
                raise ValueError(f"vmin, vmax: expected none, because {label or 'color'} holds texts")
            texts = values.astype(str)
            names = space.labels.get(color) if isinstance(color, str) else None
            names = names or tuple(np.unique(texts).tolist())
            code_of = {name: code for code, name in enumerate(names)}
            codes = np.array([code_of[text] for text in texts.tolist()], dtype=np.float64)
            return cls(codes, label, _steps(chosen, len(names)), -0.5, len(names) - 0.5, names)
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"color: expected numbers or texts, got {values.tolist()!r:.80}") from None
        unit = unit_of(values, *[[limit] for limit in (vmin, vmax) if limit is not None])
        if unit != 1.0:
            vmin, vmax = (None if limit is None else limit / unit for limit in (vmin, vmax))
            values = (values / unit).clip(
                -np.inf if vmin is None else vmin - 1.0, np.inf if vmax is None else vmax + 1.0
            )
        return cls(values, with_unit(str(label), unit), chosen, vmin, vmax)

    @property
    def look(self) -> dict[str, Any]:
        """The arguments that matplotlib's coloured collections take."""
        return {"cmap": self.cmap, "clim": (self.vmin, self.vmax) if len(self.values) else (0.0, 1.0)}

    def add_bar(self, beside: Any, shown: Any, **options: Any) -> None:
        """Add a colour bar beside the axes: opaque, without offsets; nothing if nothing is shown."""
        if not len(self.values):
            return
        bar = beside.figure.colorbar(shown, **{"ax": beside, **options})
        bar.set_label(self.label, parse_math=False)  # a dollar sign in a user's name does not begin a formula
        bar.solids.set_alpha(1.0)
        if self.names:
            shown = range(0, len(self.names), -(-len(self.names) // _NAMES_SHOWN))
            bar.set_ticks(shown, labels=[short(self.names[i]) for i in shown], minor=False, parse_math=False)
            return
        (bar.ax.xaxis if bar.orientation == "horizontal" else bar.ax.yaxis).get_major_formatter().set_useOffset(False)


def _steps(cmap: Any, n: int) -> Any:
    """A colour map of n colours."""
    import matplotlib

    return matplotlib.colormaps.get_cmap(cmap).resampled(n)


def best_on_top(archive: Archive, most: int) -> npt.NDArray[np.int64]:
    """The rows of the elites from worst to best fitness, at most `most`, evenly sampled."""
    order = np.argsort(archive.sign * archive.elites().fitness, kind="stable")
    if len(order) > most:
        order = order[np.linspace(0, len(order) - 1, most).round().astype(int)]
    return order
