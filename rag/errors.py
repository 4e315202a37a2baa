"""What can fail in the answering line.

RagError
├── ModelError               a model file, its loading or its inference failed
│   ├── ModelUnavailable     no such model here, and none could be downloaded
│   ├── DownloadFailed       a download broke or its checksum does not match
│   ├── DeadlineExceeded     inference ran past its deadline and was stopped
│   └── Cancelled            the caller cancelled the inference
└── StoreError               the index cannot be used as it is
    ├── IndexMissing         nothing has been published in this language yet
    ├── IndexMismatch        the index was built with another embedder
    │   └── IndexOutdated    another release wrote it, so that it must be built anew
    └── PublicationRefused   a new version failed its checks and did not go live
"""


class RagError(Exception):
    """Root of everything that `rag` raises; its text never holds a patient's words."""


class ModelError(RagError):
    """A model could not be loaded or run."""


class ModelUnavailable(ModelError):
    """The model is not on this machine and could not be had."""


class DownloadFailed(ModelError):
    """A download broke off, or what arrived is not the file that the registry names."""


class DeadlineExceeded(ModelError):
    """Inference was stopped because its deadline passed."""


class Cancelled(ModelError):
    """Inference was stopped because its caller asked for it."""


class StoreError(RagError):
    """The index cannot be used as it is."""


class IndexMissing(StoreError):
    """Nothing has been published in this language yet."""


class IndexMismatch(StoreError):
    """The index was built with another embedder than the one that would read it."""


class IndexOutdated(IndexMismatch):
    """Another release of Salus wrote the index, or it is not whole: the next run builds it anew."""


class PublicationRefused(StoreError):
    """A new version of an index failed its checks: what was live before still is."""
