"""``python -m thalweg``."""

from thalweg.cli.main import run

if __name__ == "__main__":
    run()
