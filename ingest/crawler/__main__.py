"""`python -m ingest.crawler`: the crawling process."""

import sys

from ingest.crawler.process import main

if __name__ == "__main__":
    sys.exit(main())
