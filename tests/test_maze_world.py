"""The maze's geometry: routes, lengths, mirror images, and the checks of users' worlds."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.ndimage import label
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from tesselite.problems import by_name
from tesselite.problems.maze_navigation import Robot, World, layout, maze, paper_world
from tesselite.problems.maze_navigation.world import read_walls
from tesselite.runs.loading import fingerprint

# Shortest path of the robot's centre, in units, by (outer route, inner route); the open maze: 537.
LENGTHS = (
    (539, 1400, 648, 1513),
    (2729, 3593, 2548, 3406),
    (648, 1511, 537, 1400),
    (2548, 3404, 2728, 3593),
)
STRIDE = 4  # search on every fourth pixel: no wall, thickened by the robot's radius, is as thin as a move


def shortest_path(blocked, start, goal):
    """Length of the shortest path over moves of up to 4 x 4 nodes between free pixels, by Dijkstra's algorithm."""
    free = blocked[::STRIDE, ::STRIDE] == 0
    height, width = free.shape
    number = np.full(free.shape, -1, np.int32)  # the only kind that SciPy 1.13 takes
    number[free] = np.arange(free.sum())
    begins, ends, lengths = [], [], []
    for dy in range(-4, 5):
        for dx in range(5):
            if np.gcd(dx, abs(dy)) == 1:
                a = number[max(0, -dy) : height - max(0, dy), : width - dx]
                b = number[max(0, dy) : height + min(0, dy), dx:]
                both = (a >= 0) & (b >= 0)
                begins.append(a[both])
                ends.append(b[both])
                lengths.append(np.full(both.sum(), STRIDE * np.hypot(dx, dy)))
    graph = coo_array(
        (np.concatenate(lengths), (np.concatenate(begins), np.concatenate(ends))), shape=(free.sum(), free.sum())
    ).tocsr()
    there = number[int(goal[1]) // STRIDE, int(goal[0]) // STRIDE]
    here = number[int(start[1]) // STRIDE, int(start[0]) // STRIDE]
    return dijkstra(graph, directed=False, indices=there)[here]


@pytest.mark.parametrize("environment", [None, *layout.ENVIRONMENTS])
def test_shortest_paths(environment):
    world = paper_world(environment)
    expected = 537 if environment is None else LENGTHS[(int(environment) - 1) // 4][(int(environment) - 1) % 4]
    assert shortest_path(world.blocked, world.start, world.goal) == pytest.approx(expected, rel=0.01)


@cache  # closing one more opening of different environments often gives the same maze
def reachable(outer, inner, outer_radius):
    """Whether the robot can drive from the start to the goal, in a maze with these closures."""
    blocked = World.__new__(World)
    blocked.walls, blocked.radius = layout.rasterise(outer, inner, outer_radius=outer_radius), 10.0
    rooms, _ = label(blocked.blocked == 0, structure=np.ones((3, 3)))
    return rooms[940, 500] == rooms[500, 500]


@pytest.mark.parametrize("environment", layout.ENVIRONMENTS)
@pytest.mark.parametrize("outer_radius", [None, pytest.param(495.0, marks=pytest.mark.slow)], ids=["square", "round"])
def test_one_route_each_closing_any_further_opening_cuts_it(environment, outer_radius):
    outer, inner = layout.closures(environment)
    assert reachable(outer, inner, outer_radius)
    assert sum(outer) + sum(inner) == 4
    openings = [(stage, i) for stage, closed in enumerate((outer, inner)) for i in range(4) if not closed[i]]
    for stage, i in openings:
        closed = [list(outer), list(inner)]
        closed[stage][i] = True
        assert not reachable(tuple(closed[0]), tuple(closed[1]), outer_radius), (environment, stage, i)


@pytest.mark.parametrize("environment", ["1", "6", "11", "16"])
def test_round_mazes_have_a_route(environment):
    """Each route of either stage once; that it is the only one takes longer."""
    assert reachable(*layout.closures(environment), 495.0)
    assert not reachable((True,) * 4, layout.closures(environment)[1], 495.0)


def test_the_round_layout():
    y, x = np.mgrid[:1000, :1000] + 0.5 - 500
    for radius, wall in ((495.0, 10), (470.0, 20)):
        problem = maze("2d", layout="round", outer_radius=radius, wall=wall)
        free = label(~problem.world.walls)[0]
        inside = free == free[940, 500]
        assert not inside[np.hypot(x, y) >= radius].any()
        assert inside[(np.hypot(x, y) < radius - 1) & (y < -360)].all()  # the corridor behind the outer ring
        assert np.array_equal(problem.world.walls, problem.world.walls[:, ::-1])
        assert problem.world_of("8") == paper_world("8", outer_radius=radius, wall=wall)
        assert fingerprint(problem) != fingerprint(maze("2d"))
    # The inner stages are those of the square layout.
    core = np.hypot(x, y) < 350
    assert np.array_equal(paper_world("3", outer_radius=495.0).walls[core], paper_world("3").walls[core])
    assert by_name("maze:2d,layout=round,outer_radius=470,wall=20").world == problem.world
    with pytest.raises(ValueError, match="layout: expected one of square, round, got 'oval'"):
        maze("2d", layout="oval")
    with pytest.raises(ValueError, match="outer_radius: only valid together with layout='round'"):
        maze("2d", outer_radius=480)


def test_the_share_of_cells_that_can_be_reached():
    walls = np.zeros((90, 120), dtype=bool)
    walls[[0, -1]] = walls[:, [0, -1]] = True
    walls[:, 60] = True  # half of it is out of reach
    world = World(walls, (20, 45), (40, 45), radius=3)
    # The robot's pixels are x from 4 to 56 and y from 4 to 85.
    assert world.reachable(cells=1) == 1.0
    assert world.reachable(cells=2) == 0.5
    assert world.reachable(cells=30) == (56 // 4) * (85 // 3 - 4 // 3 + 1) / 900
    ceilings = [paper_world(None, outer_radius=radius).reachable() for radius in (None, 495.0, 470.0)]
    np.testing.assert_allclose(ceilings, [0.908, 0.728, 0.658], atol=0.001)


def test_environments_are_mirror_images():
    # Left and right change places: routes 0 and 2, and 1 and 3, of both stages.
    other = (2, 3, 0, 1)
    assert np.array_equal(paper_world(None).walls, paper_world(None).walls[:, ::-1])
    for outer in range(4):
        for inner in range(4):
            this = paper_world(str(4 * outer + inner + 1))
            mirror = paper_world(str(4 * other[outer] + other[inner] + 1))
            assert np.array_equal(this.walls, mirror.walls[:, ::-1])
    assert (4 * 1 + 3 + 1, 4 * other[1] + other[3] + 1) == (8, 14)  # the pair that the paper calls symmetrical


def test_openings_have_their_width():
    """Along the axis of a door, the gap is free over its width and its jambs are wall."""
    for opening in (70.0, 90.0):
        walls = paper_world(None, opening).walls
        for stage in (layout.OUTER, layout.INNER):
            r = np.arange(stage.door_from, min(stage.door_to, 470), 0.25)
            angle = np.deg2rad(stage.door_angle)
            free = ~walls[(500 + r * np.cos(angle)).astype(int), (500 + r * np.sin(angle)).astype(int)]
            if stage is layout.INNER:
                assert free.sum() * 0.25 == pytest.approx(opening, abs=2)


def test_collision_map_is_the_disc_of_wall_pixels():
    walls = np.zeros((60, 60), dtype=bool)
    walls[[0, -1]] = walls[:, [0, -1]] = True
    walls[30, 30] = True
    world = World(walls, (15, 45), (45, 15), radius=5)
    y, x = np.mgrid[:60, :60]
    near = (x - 30) ** 2 + (y - 30) ** 2 <= 25
    inside = (x > 5) & (x < 54) & (y > 5) & (y < 54)
    assert np.array_equal(world.blocked[inside] == 1, near[inside])


def test_the_robot_has_the_radius_that_its_world_is_meant_for():
    walls = box()
    world = World(walls, (30, 40), (90, 40), radius=4)
    assert maze("2d", world=world).robot.radius == 4
    assert maze("2d", world=world, robot=Robot(radius=6)).world.radius == 6
    assert maze("2d").robot == Robot()


def test_leaps_never_reach_a_wall():
    world = paper_world("1")
    free = np.argwhere(~world.walls)
    wall = np.argwhere(world.walls)
    rng = np.random.default_rng(1)
    for y, x in free[rng.integers(len(free), size=200)]:
        # Smallest distance between any points of the two squares.
        gap = np.maximum(np.abs(wall - (y, x)) - 1, 0)
        assert (world.leap[y, x] - 1) / 2 < max(np.hypot(*gap.T).min(), 0.5)
    assert (world.leap[world.walls] == 0).all()


def box(height=80, width=120):
    walls = np.zeros((height, width), dtype=bool)
    walls[[0, -1]] = walls[:, [0, -1]] = True
    return walls


def test_own_world_is_checked():
    walls = box()
    World(walls, (30, 40), (90, 40))
    divided = walls.copy()
    divided[:, 60] = True
    narrow = divided.copy()
    narrow[30:50, 60] = False
    open_side = walls.copy()
    open_side[40, -1] = False
    for message, call in {
        "start: expected more than 10 units": lambda: World(walls, (5, 40), (90, 40)),
        "goal: expected more than 10 units": lambda: World(walls, (30, 40), (119, 40)),
        "goal: expected a path": lambda: World(divided, (30, 40), (90, 40)),
        "a robot of radius 10 can drive": lambda: World(narrow, (30, 40), (90, 40)),
        "enclose the start": lambda: World(open_side, (30, 40), (90, 40)),
        "start: expected a point inside": lambda: World(walls, (130, 40), (90, 40)),
        "start: expected \\(x, y\\)": lambda: World(walls, (30,), (90, 40)),
        "goal: expected \\(x, y\\)": lambda: World(walls, (30, 40), ("a", 40)),
        "radius: expected at least 2": lambda: World(walls, (30, 40), (90, 40), 1.0),
        "radius: expected at least 2 units, got '10'": lambda: World(walls, (30, 40), (90, 40), "10"),
        "walls: expected a bitmap": lambda: World(walls[0], (30, 40), (90, 40)),
        "environment: expected": lambda: paper_world("17"),
        "opening: expected": lambda: paper_world("1", 400.0),
        "outer_radius: expected 460 to 495": lambda: paper_world("1", outer_radius=500.0),
        "wall: expected a thickness": lambda: paper_world("1", wall=50),
    }.items():
        with pytest.raises(ValueError, match=message):
            call()
    World(narrow, (30, 40), (90, 40), 8.0)


def test_pictures_png_and_pbm(tmp_path):
    from PIL import Image

    walls = box()
    walls[20:40, 50:60] = True
    picture = Image.fromarray(np.where(walls, 0, 255).astype(np.uint8))
    picture.save(tmp_path / "maze.png")
    picture.convert("1").save(tmp_path / "maze.pbm")
    plain = "P1\n# by hand\n3 3\n1 1 1\n1 0 1\n1 1 1\n"
    (tmp_path / "plain.pbm").write_text(plain)
    for name in ("maze.png", "maze.pbm"):
        assert np.array_equal(read_walls(tmp_path / name), walls)
        world = World.from_image(tmp_path / name, (30, 40), (90, 40))
        assert world == World(walls, (30, 40), (90, 40))
    assert read_walls(tmp_path / "plain.pbm").sum() == 8
    see_through = np.zeros((5, 5, 4), dtype=np.uint8)  # black, but see-through: free
    Image.fromarray(see_through).save(tmp_path / "empty.png")
    assert not read_walls(tmp_path / "empty.png").any()
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(ValueError, match="PNG or PBM"):
        read_walls(tmp_path / "text.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "maze.png").read_bytes()[:-30])
    with pytest.raises(ValueError, match="whole PNG or PBM"):
        read_walls(tmp_path / "cut.png")
    with pytest.raises(FileNotFoundError):
        read_walls(tmp_path / "nothing.png")


def test_pictures_of_16_bits(tmp_path):
    from PIL import Image

    grey = np.array([[0, 300, 32767], [32768, 40000, 65535]], dtype=np.uint16)
    Image.fromarray(grey).save(tmp_path / "deep.png")
    (tmp_path / "deep.pgm").write_bytes(b"P5 3 2 65535\n" + grey.astype(">u2").tobytes())
    for name in ("deep.png", "deep.pgm"):
        assert read_walls(tmp_path / name).tolist() == [[True] * 3, [False] * 3]
