import gzip

import pytest

from ingest.crawler.listings import Listed, ListingUnreadable, feed_links, sitemap_entries

MAX = 10_000
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
BOMB = f'<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY l0 "ah">{LAUGHS}]>'


def urls(body: bytes) -> list[str]:
    return [entry.url for entry in sitemap_entries(body, max_bytes=MAX)]


def test_a_sitemap_lists_pages_and_an_index_lists_sitemaps() -> None:
    page = (
        b"<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
        b"<url><loc> https://a.it/1 </loc></url></urlset>"
    )
    index = b"<sitemapindex><sitemap><loc>https://a.it/s.xml</loc></sitemap></sitemapindex>"
    assert list(sitemap_entries(page, max_bytes=MAX)) == [Listed("https://a.it/1", is_sitemap=False)]
    assert list(sitemap_entries(index, max_bytes=MAX)) == [Listed("https://a.it/s.xml", is_sitemap=True)]


def test_a_sitemap_may_be_gzipped_or_a_plain_list() -> None:
    plain = b"\xef\xbb\xbfhttps://a.it/1\nhttps://a.it/2\n"
    assert urls(plain) == urls(gzip.compress(plain)) == ["https://a.it/1", "https://a.it/2"]


@pytest.mark.parametrize("body", [b"", b"<html><body>404</body></html>", b"{}", b"<rss/>"])
def test_what_is_no_sitemap_is_told(body: bytes) -> None:
    with pytest.raises(ListingUnreadable, match="not_a_sitemap"):
        urls(body)


def test_a_gzipped_sitemap_that_grows_beyond_the_cap_is_refused() -> None:
    with pytest.raises(ListingUnreadable, match="too_large"):
        urls(gzip.compress(b"0" * (MAX + 1)))


def test_a_broken_gzip_is_told() -> None:
    with pytest.raises(ListingUnreadable, match="broken_encoding"):
        urls(gzip.compress(b"<urlset/>")[:-9])


def test_sitemap_and_feed_with_entities_of_their_own_are_refused() -> None:
    sitemap = f"{BOMB}<urlset><url><loc>https://a.it/&l9;</loc></url></urlset>".encode()
    feed = f"{BOMB}<rss><channel><item><link>https://a.it/&l9;</link></item></channel></rss>".encode()
    with pytest.raises(ListingUnreadable, match="entities"):
        urls(sitemap)
    with pytest.raises(ListingUnreadable, match="entities"):
        list(feed_links(feed, max_bytes=MAX))


def test_rss_items_and_atom_entries_give_their_links() -> None:
    rss = b"<rss><channel><link>https://a.it/</link><item><link>https://a.it/1</link></item><item><guid>https://a.it/2</guid></item></channel></rss>"
    atom = (
        b"<feed xmlns='http://www.w3.org/2005/Atom'><link href='https://a.it/'/><entry><link rel='enclosure' href='https://a.it/x.mp3'/>"
        b"<link rel='alternate' href='https://a.it/3'/></entry></feed>"
    )
    rdf = b"<RDF xmlns='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><item xmlns='http://purl.org/rss/1.0/'><link>https://a.it/4</link></item></RDF>"
    assert list(feed_links(rss, max_bytes=MAX)) == ["https://a.it/1", "https://a.it/2"]
    assert list(feed_links(atom, max_bytes=MAX)) == ["https://a.it/3"]
    assert list(feed_links(rdf, max_bytes=MAX)) == ["https://a.it/4"]


@pytest.mark.parametrize("body", [b"", b"<html><body>ciao</body></html>", b"testo"])
def test_what_is_no_feed_is_told(body: bytes) -> None:
    with pytest.raises(ListingUnreadable, match="not_a_feed"):
        list(feed_links(body, max_bytes=MAX))
