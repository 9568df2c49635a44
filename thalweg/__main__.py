"""``twg`` and ``python -m thalweg``: Ctrl-C is minded before anything else is loaded."""

from thalweg import interrupt


def start() -> None:
    """Entry point of the console script and of ``python -m thalweg``."""
    interrupt.mind()
    from thalweg.cli.main import run  # noqa: PLC0415 - this is what takes its time

    run()


if __name__ == "__main__":
    start()
