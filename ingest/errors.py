"""What can fail while sources are read.

IngestError
├── SourceUnreadable   a file or folder is missing or malformed; the message names the file and what is wrong in it
├── LedgerUnusable     the ledger is not a database, or a newer release wrote it
└── RunRefused         a run would lose content, or another run holds the writer lock
"""


class IngestError(Exception):
    """Root of everything that `ingest` raises."""


class SourceUnreadable(IngestError):
    """A file or folder is missing or malformed."""


class LedgerUnusable(IngestError):
    """The ledger cannot be read or written by this release."""


class RunRefused(IngestError):
    """The run was refused so that nothing is lost."""
