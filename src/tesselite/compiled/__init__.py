"""Compilation: the cache of machine code, blocks called by address, the crew of threads, maths."""
