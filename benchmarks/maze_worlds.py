"""Draw the open maze and its 16 environments, with the shortest path in each: docs/maze-worlds.png.

python benchmarks/maze_worlds.py [FILE]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from tesselite.problems.maze_navigation import World, layout, paper_world
from tesselite.problems.maze_navigation.maze_pictures import draw_world
from tesselite.report.style import figure, save

STRIDE = 4  # search on every fourth pixel
REACH = 4  # with moves of up to this many nodes a side


def shortest_path(world: World) -> tuple[np.ndarray, float]:
    """The shortest path from the start to the goal, (n, 2) in units, and its length."""
    free = world.blocked[::STRIDE, ::STRIDE] == 0
    height, width = free.shape
    number = np.full(free.shape, -1)
    number[free] = np.arange(free.sum())
    begins, ends, lengths = [], [], []
    for dy in range(-REACH, REACH + 1):
        for dx in range(REACH + 1):
            if np.gcd(dx, abs(dy)) == 1:
                a = number[max(0, -dy) : height - max(0, dy), : width - dx]
                b = number[max(0, dy) : height + min(0, dy), dx:]
                both = (a >= 0) & (b >= 0)
                begins.append(a[both])
                ends.append(b[both])
                lengths.append(np.full(both.sum(), STRIDE * np.hypot(dx, dy)))
    edges = (np.concatenate(lengths), (np.concatenate(begins), np.concatenate(ends)))
    graph = coo_array(edges, shape=(free.sum(), free.sum())).tocsr()
    here, there = (number[int(p[1]) // STRIDE, int(p[0]) // STRIDE] for p in (world.start, world.goal))
    distance, before = dijkstra(graph, directed=False, indices=there, return_predecessors=True)
    place = np.argwhere(free)[:, ::-1] * STRIDE
    path = [here]
    while path[-1] != there:
        path.append(before[path[-1]])
    return place[path], float(distance[here])


def main() -> None:
    file = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/maze-worlds.png")
    with figure(12.0, 6.6) as made:
        axes = made.subplots(3, 6).ravel()
        for ax, name in zip(axes, (None, *layout.ENVIRONMENTS), strict=False):
            world = paper_world(name)
            path, length = shortest_path(world)
            draw_world(ax, world)
            ax.plot(*path.T, color="#D55E00", linewidth=1)
            ax.set_title(f"{name or 'open'}: {length:.0f} units", fontsize=9)
        axes[-1].set_axis_off()
        print(save(made, file))


if __name__ == "__main__":
    main()
