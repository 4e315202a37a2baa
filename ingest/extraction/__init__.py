"""From the bytes of a page to a document."""
