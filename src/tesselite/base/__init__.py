"""What everybody stands on: atomic files, seeds, threads, interruption."""
