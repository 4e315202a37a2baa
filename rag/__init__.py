"""The answering line: from a patient's question to sentences that a source proves. Knows nothing of chat."""
