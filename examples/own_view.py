"""A problem that brings its own drawing for the interactive page: vases, shown as they would stand on a table.

tesselite run own_view:vase --grid 20 --evaluations 20000 -o runs/vases
tesselite report runs/vases
"""

import numpy as np

import tesselite as tl

DRAWING = """
Page.drawers.vase = {
  draw: (context, { width, height }, { radii: { data } }) => {
    const n = data.length, across = width / 2.4, down = height / (n + 1);
    const side = (sign) => Array.from(data, (radius, i) => [width / 2 + sign * radius * across, (i + 1) * down]);
    const outline = [...side(-1), ...side(1).reverse()];
    context.beginPath();
    outline.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
    context.fillStyle = Page.css("--accent");
    context.fill();
    Page.drawing.line(context, side(-1), Page.css("--ink"), 2);
    Page.drawing.line(context, side(1), Page.css("--ink"), 2);
  },
};
"""


@tl.problem(solutions=tl.Box(8, 0.1, 1.0), features={"belly": (0.0, 1.0), "neck": (0.0, 1.0)}, floor=-1.0, batch=True)
def vase(radii):
    """Radii from the rim to the foot: smooth walls are best; vases differ in their widest and narrowest parts."""
    roughness = (np.diff(radii, n=2, axis=1) ** 2).mean(axis=1)
    return -roughness, np.column_stack([radii.max(axis=1), radii.min(axis=1)])


def look(radii, scenario=None):
    """The data with which the page draws vases (m, 8)."""
    return {"kind": "vase", "script": DRAWING, "per_elite": ["radii"], "radii": np.asarray(radii)}


vase.elite_view = look

if __name__ == "__main__":
    from own_view import vase  # the name by which other processes find it

    made = tl.run(vase, grid=20, evaluations=20_000, seed=1, out="runs/vases")
    print(f"{len(made.archive)} vases; see them with: tesselite report {made.folder}")
