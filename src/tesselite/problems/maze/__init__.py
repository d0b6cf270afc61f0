"""The maze navigation task: `maze(...)` makes the problem, the other names are its parts and settings.

Pictures of it live in `tesselite.problems.maze.pictures`. Paper: Vassiliades et al. 2018, section IV.
"""

from tesselite.problems.maze.networks import Mutation, Networks
from tesselite.problems.maze.problem import DESCRIPTORS, Maze, maze
from tesselite.problems.maze.robot import Robot
from tesselite.problems.maze.world import World, paper_world

__all__ = ["DESCRIPTORS", "Maze", "Mutation", "Networks", "Robot", "World", "maze", "paper_world"]
