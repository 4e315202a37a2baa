"""Models behind two protocols: what embeds and what writes, and where their files come from."""
