"""`recolorist-lab` and `python -m recolorist_lab`: the study's command line, imported inside `main` for the sake of Ctrl-C."""

from recolorist._interrupt import exit_interrupted

__all__ = ["main"]


def main() -> None:
    """Load and run the command line; Ctrl-C ends it with exit code 130 and no traceback."""
    try:
        from recolorist_lab.cli.main import main as run

        run()
    except KeyboardInterrupt:
        exit_interrupted("recolorist-lab")


if __name__ == "__main__":
    main()
