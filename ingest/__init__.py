"""The ingestion line: from a publisher's pages to a published index."""
