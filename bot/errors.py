"""What can fail in the product itself.

BotError
├── SettingsInvalid   a setting is missing or wrong; the message names the setting, never its value
├── StartRefused      the parts do not fit together: no red flags, an index of another embedder, a webhook without a secret
├── Busy              the queue is full and the question was not taken
├── BackupFailed      a backup could not be made or restored; what was there still is
├── AlreadyRunning    a run of ingestion is going on, in this process or another
└── RunNotStarted     the process of a run could not be started
"""


class BotError(Exception):
    """Root of everything that `bot` raises; its text never holds a patient's words or a secret."""


class SettingsInvalid(BotError):
    """A setting is missing or wrong."""


class StartRefused(BotError):
    """The parts do not fit together, so nothing was started."""


class Busy(BotError):
    """The queue is full and the question was not taken."""


class BackupFailed(BotError):
    """A backup could not be made or restored: what was there still is."""


class AlreadyRunning(BotError):
    """A run is going on, in this process or another."""


class RunNotStarted(BotError):
    """The process of a run could not be started."""
