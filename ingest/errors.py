"""What can fail while sources are read.

IngestError
├── SourceUnreadable   a file or folder is missing or malformed; the message names the file and what is wrong in it
│   └── CrawlFailed    a web site could not be crawled at all; single pages that fail are told in their visits instead
├── LedgerUnusable     the ledger is not a database, or a newer release wrote it
├── RunRefused         a run would lose content, or another run holds the run lock
└── RunCancelled       an administrator stopped the run
"""


class IngestError(Exception):
    """Root of everything that `ingest` raises."""


class SourceUnreadable(IngestError):
    """A file or folder is missing or malformed."""


class CrawlFailed(SourceUnreadable):
    """A web site could not be crawled at all."""


class LedgerUnusable(IngestError):
    """The ledger cannot be read or written by this release."""


class RunRefused(IngestError):
    """The run was refused so that nothing is lost."""


class RunCancelled(IngestError):
    """The run was asked to stop."""
