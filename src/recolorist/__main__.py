"""`recolorist` and `python -m recolorist`: the command line, imported inside `main` so that Ctrl-C ends it quietly even then."""

from recolorist._interrupt import exit_interrupted

__all__ = ["main"]


def main() -> None:
    """Load and run the command line; Ctrl-C ends it with exit code 130 and no traceback."""
    try:
        from recolorist.cli.main import main as run

        run()
    except KeyboardInterrupt:
        exit_interrupted("recolorist")


if __name__ == "__main__":
    main()
