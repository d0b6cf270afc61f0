"""The maze navigation task: `maze(...)` makes the problem, the other names are its parts and settings.

Pictures of it live in `tesselite.problems.maze_navigation.maze_pictures`. Paper: Vassiliades et al. 2018, section IV.
"""

from tesselite.problems.maze_navigation.networks import Mutation, Networks
from tesselite.problems.maze_navigation.problem import DESCRIPTORS, Maze, maze
from tesselite.problems.maze_navigation.robot import Robot
from tesselite.problems.maze_navigation.world import World, paper_world

__all__ = ["DESCRIPTORS", "Maze", "Mutation", "Networks", "Robot", "World", "maze", "paper_world"]
