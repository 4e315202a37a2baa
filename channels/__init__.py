"""Adapters: what a messenger sends becomes an `InboundMessage`, and an `OutboundMessage` becomes what the messenger shows."""
