"""Fetching a publisher's pages: Scrapy in a process of its own, and the store that it fills."""
