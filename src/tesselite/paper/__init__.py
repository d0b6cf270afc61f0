"""The paper's experiments as data, each number with its place in the paper; running them is in `tesselite.runs.run`."""
