"""`python -m rag.models NAME …` makes models available; for the set-up, which runs before anything is configured."""

import sys

from rag.errors import ModelError
from rag.models.download import default_home, pull
from rag.models.progress import shown


def main(names: list[str]) -> int:
    """Pull the models called `names` into SALUS_HOME; returns the exit status."""
    for name in names:
        try:
            with shown() as report:
                pull(name, default_home(), progress=report)
        except ModelError as error:
            sys.stderr.write(f"{error}\n")
            return 1
        except KeyboardInterrupt:
            sys.stderr.write("Stopped. The parts that have arrived are kept: run it again to go on.\n")
            return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
