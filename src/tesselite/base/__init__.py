"""Shared foundations: atomic files, seeds, threads, interruption."""
