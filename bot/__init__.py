"""The product: composes channels, ingestion and the answering line, and decides what happens to a message."""
