"""Everything that depends on a language or a country, as data: messages, prompts, lexicon, red flags, emergency numbers."""
