"""`python -m recolorist`: the command line, where the command itself is not on the path."""

from recolorist.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
