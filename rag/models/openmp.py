"""How OpenMP's threads wait for each other, which both native engines depend on."""

import os


def wait_passively() -> None:
    """Let idle OpenMP threads sleep instead of spin. Takes effect only before an engine's library is loaded.

    Spinning threads hold the cores that the thread they wait for would need: with two other processes at work on a 2-core
    machine, the 0.5B generator decodes 1 to 4 tokens a second spinning and 11 to 25 sleeping. An operator's own setting stands.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
