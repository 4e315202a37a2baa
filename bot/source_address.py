"""Where a patient can read a source: its own address, the bot's page of it, or at least the file that it is."""

from collections.abc import Sequence

from channels.messages import OutboundLink
from ingest.sources import SourceRow
from rag.documents import Chunk
from rag.types import Source


class SourceAddresses:
    """Makes links of sources.

    Args:
        public_base_url: Where the bot's own pages are reached from outside; None when they are not.
        rows: The configured sources, to name the file of a page that has no address.
    """

    def __init__(self, public_base_url: str | None, rows: Sequence[SourceRow] = ()) -> None:
        self._public_base_url = public_base_url
        self._rows = rows

    def url(self, source: Source | Chunk) -> str | None:
        """The address that opens the page, None when there is none."""
        if source.url is not None:
            return source.url
        return f"{self._public_base_url}/sources/{source.document_id}" if self._public_base_url else None

    def link(self, source: Source, remark: str = "") -> OutboundLink:
        """Title, publisher, year of review and `remark`; with the file's name when nothing can be opened."""
        url = self.url(source)
        year = f", {source.reviewed_on.year}" if source.reviewed_on else ""
        label = f"{source.title} — {source.publisher}{year}" + (f" ({remark})" if remark else "")
        if url is None:
            label += f" · {self._file(source.document_id)}"
        return OutboundLink(label=label, url=url)

    def _file(self, document_id: str) -> str:
        for row in self._rows:
            if row.path is None or not document_id.startswith(f"{row.id}-"):
                continue
            path = row.path / f"{document_id.removeprefix(row.id + '-')}.md"
            if path.is_file():
                return "/".join(path.parts[-3:])
        return document_id
