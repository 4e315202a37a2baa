"""Serves the site until it is interrupted: `python -m tests.doubles.health_site --port 0 --sources sources.toml`."""

import argparse
import signal
import sys
from pathlib import Path

from tests.doubles.health_site.site import HealthSite


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port of the first host; the others follow it; 0 for free ones")
    parser.add_argument("--sources", type=Path, help="write the publishers' rows to this file")
    arguments = parser.parse_args()
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # before the thread of the server, which inherits it
    with HealthSite(arguments.port) as site:
        if arguments.sources:
            site.write_sources(arguments.sources)
        first, *others = site.hosts.values()
        sys.stdout.write(f"{first.base}\n" + "".join(f"{host.name} {host.base}\n" for host in (first, *others)))
        sys.stdout.flush()
        signal.sigwait(signals)


if __name__ == "__main__":
    main()
