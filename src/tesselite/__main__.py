"""`python -m tesselite`: the command line."""

from tesselite.cli import main

if __name__ == "__main__":
    main()
