"""The life of a page from night to night."""

import pytest

from ingest.fetching import Fetch, Visit
from ingest.ledger import Ledger
from ingest.report import RunStatus
from ingest.run import ledger_path
from tests.integration.written_web import (
    BANNER,
    FORBIDDEN,
    GONE,
    LIST,
    NO_ROBOTS,
    RESERVED,
    REST,
    SOFT_404,
    TIMEOUT,
    Home,
    Web,
    counts,
    html,
    sources,
)


@pytest.mark.parametrize("answer", [GONE, FORBIDDEN, SOFT_404], ids=["gone", "robots", "soft-404"])
async def test_page_is_retired_after_two_misses_in_a_row_and_its_bytes_with_it(home: Home, web: Web, answer: str | Visit) -> None:
    await home.night()
    web.pages["/pellagra"] = answer
    assert counts(await home.night()).get("retired") is None
    assert home.found("pellagra") == ["/pellagra"]

    assert counts(await home.night())["retired"] == 1
    assert (home.found("pellagra"), home.found("scorbuto")) == ([], ["/scorbuto"])
    assert "/pellagra" not in await home.addresses()
    assert not home.fetched("/pellagra")
    assert b"pellagra e di come si riconosce" not in home.bytes()


async def test_page_that_is_back_after_one_miss_needs_two_more(home: Home, web: Web) -> None:
    await home.night()
    for answer in (GONE, html("pellagra"), GONE):
        web.pages["/pellagra"] = answer
        await home.night()
    assert home.found("pellagra") == ["/pellagra"]

    assert counts(await home.night())["retired"] == 1


@pytest.mark.parametrize("trouble", [TIMEOUT, NO_ROBOTS, BANNER], ids=["timeout", "robots-503", "banner"])
async def test_trouble_takes_nothing_away_however_long_it_lasts(home: Home, web: Web, trouble: str | Visit) -> None:
    await home.night()
    web.pages["/pellagra"] = trouble
    for _ in range(3):
        assert counts(await home.night()).get("retired") is None
    assert home.found("pellagra") == ["/pellagra"]


async def test_timeout_between_two_misses_forgives_neither(home: Home, web: Web) -> None:
    await home.night()
    for answer in (GONE, TIMEOUT):
        web.pages["/pellagra"] = answer
        await home.night()
    assert home.found("pellagra") == ["/pellagra"]

    web.pages["/pellagra"] = GONE
    await home.night()
    assert home.found("pellagra") == []


async def test_failed_addresses_are_told(home: Home, web: Web) -> None:
    await home.night()
    web.pages["/pellagra"] = TIMEOUT
    report = await home.night()

    assert report.status is RunStatus.PARTIAL
    assert report.problems == ("a: 1 addresses could not be fetched; what they had given stays",)


async def test_refused_page_keeps_its_old_version_until_it_is_whole_again(home: Home, web: Web) -> None:
    await home.night()
    web.pages["/pellagra"] = "<html lang='it'><body><p>In preparazione.</p></body></html>"
    report = await home.night()
    assert (report.refusals, home.found("pellagra")) == ({"a": {"too_short": 1}}, ["/pellagra"])

    web.pages["/pellagra"] = html("pellagra", "Manca la niacina.")
    await home.night()
    assert home.found("niacina") == ["/pellagra"]


async def test_page_that_shrinks_loses_its_old_chunks(home: Home, web: Web) -> None:
    web.pages["/pellagra"] = html("pellagra", *(f"{REST} Paragrafo {n} su zibibbo." for n in range(12)))
    await home.night()
    assert home.found("zibibbo") == ["/pellagra"]
    web.pages["/pellagra"] = html("pellagra")
    await home.night()

    assert (home.found("zibibbo"), home.found("pellagra")) == ([], ["/pellagra"])


async def test_of_a_changed_page_only_new_texts_are_embedded(home: Home, web: Web) -> None:
    await home.night()
    web.pages["/pellagra"] = html("pellagra", "Manca la niacina.")
    assert counts(await home.night()) == {"changed": 1, "unchanged": 2}

    assert all("niacina" in text for text in home.embedder.passages)
    assert 1 <= len(home.embedder.passages) <= 2


async def test_redirected_page_stays_one_document_and_is_not_embedded_again(home: Home, web: Web) -> None:
    await home.night()
    del web.pages["/pellagra"]
    web.pages["/nuova"], web.moved["/pellagra"] = html("pellagra"), "/nuova"
    report = await home.night()

    assert (counts(report), home.found("pellagra")) == ({"moved": 1, "unchanged": 2, "retired": 1}, ["/nuova"])
    assert home.embedder.passages == []
    assert "/pellagra" not in await home.addresses()


async def test_page_that_redirects_to_another_page_that_was_there_before_is_gone(home: Home, web: Web) -> None:
    await home.night()
    del web.pages["/pellagra"]
    web.moved["/pellagra"] = "/scorbuto"
    await home.night()

    assert (home.found("pellagra"), home.found("scorbuto")) == ([], ["/scorbuto"])


async def test_page_that_redirects_to_a_list_is_as_good_as_gone(home: Home, web: Web) -> None:
    web.pages["/"] = LIST
    await home.night()
    del web.pages["/pellagra"]
    web.moved["/pellagra"] = "/"
    await home.night()
    assert home.found("pellagra") == ["/pellagra"]

    await home.night()
    assert home.found("pellagra") == []


async def test_text_at_a_new_address_replaces_the_old_one_at_once(home: Home, web: Web) -> None:
    await home.night()
    web.pages["/elenco/pellagra"] = web.pages.pop("/pellagra")
    report = await home.night()

    assert (counts(report)["moved"], home.found("pellagra")) == (1, ["/elenco/pellagra"])
    assert home.embedder.passages == []


async def test_page_that_comes_back_to_its_first_address_is_read_again_when_it_leaves_the_second(home: Home, web: Web) -> None:
    await home.night()
    first = web.pages.pop("/pellagra")
    web.pages["/elenco/pellagra"] = first
    await home.night()
    web.pages["/pellagra"] = first
    await home.night()
    del web.pages["/elenco/pellagra"]
    for _ in range(2):
        await home.night()

    assert home.found("pellagra") == ["/pellagra"]


async def test_copy_is_stored_once_and_takes_over_when_the_original_goes(home: Home, web: Web) -> None:
    """H35"""
    web.pages["/stampa/pellagra"] = html("pellagra")
    report = await home.night()
    assert (report.refusals, home.found("pellagra")) == ({"a": {"duplicate": 1}}, ["/pellagra"])

    web.pages["/pellagra"] = TIMEOUT
    await home.night()
    assert home.found("pellagra") == ["/pellagra"]

    web.pages["/pellagra"] = GONE
    await home.night()
    assert home.found("pellagra") == ["/stampa/pellagra"]


async def test_texts_that_differ_in_a_dose_or_a_negation_are_both_kept(home: Home, web: Web) -> None:
    for path, text in (("/1", "Si prendono due compresse."), ("/2", "Si prendono tre compresse."), ("/3", "Non si prende.")):
        web.pages[path] = html("dolofenil", text, title="Il dolofenil")
    report = await home.night()

    assert (report.refusals, home.found("dolofenil")) == ({}, ["/1", "/2", "/3"])


async def test_page_that_becomes_a_copy_of_another_leaves_nothing_behind(home: Home, web: Web) -> None:
    web.pages |= {"/1": html("beriberi", title="Il beriberi"), "/2": html("kwashiorkor", title="Il beriberi")}
    await home.night()
    web.pages["/2"] = web.pages["/1"]
    await home.night()

    assert (home.found("kwashiorkor"), home.found("beriberi")) == ([], ["/1"])


async def test_page_that_names_another_canonical_address_leaves_nothing_behind(home: Home, web: Web) -> None:
    web.pages |= {"/1": html("beriberi"), "/2": html("kwashiorkor")}
    await home.night()
    web.pages["/2"] = html("beriberi", canonical="/1")
    await home.night()

    assert (home.found("kwashiorkor"), home.found("beriberi")) == ([], ["/1"])


async def test_pages_that_the_row_no_longer_takes_are_retired(home: Home, web: Web) -> None:
    await home.night()
    web.pages["/pellagra"] = Visit(url="", fetch=Fetch.REFUSED, reason="not_allowed")
    web.pages["/scorbuto"] = Visit(url="", fetch=Fetch.REFUSED, reason="off_site")
    for _ in range(2):
        await home.night()

    assert (home.found("pellagra"), home.found("scorbuto"), home.found("xerostomia")) == ([], [], ["/xerostomia"])


# Much less than before.


async def test_source_that_gives_much_less_is_refused_and_the_others_go_on(large: Home, web: Web) -> None:
    large.sources.write_text(sources("a", "b"), encoding="utf-8")
    web.of["b"] = {"/b/uno": html("beriberi")}
    await large.night()
    for n in range(10):
        del web.pages[f"/{n}"]
    web.of["b"]["/b/due"] = html("kwashiorkor")
    for _ in range(3):
        report = await large.night()
        assert (report.refused_sources, report.status) == (("a",), RunStatus.PARTIAL)
        assert report.problems[0].startswith("a: gave 10 pages, 20 before; what is published of it stays, unless")
        assert large.found("kwashiorkor") == ["/b/due"]
        assert large.found("quazark") == ["/0"]


async def test_operator_who_believes_a_smaller_source_is_taken_at_his_word_at_once(large: Home, web: Web) -> None:
    await large.night()
    for n in range(10):
        del web.pages[f"/{n}"]
    await large.night()
    report = await large.night(accept_smaller=True)

    assert (report.refused_sources, counts(report)) == ((), {"unchanged": 10, "retired": 10})
    assert large.found("quazark") == []
    assert (await large.night()).refused_sources == ()


async def test_empty_crawl_is_refused(large: Home, web: Web) -> None:
    await large.night()
    for answer in (GONE, TIMEOUT, NO_ROBOTS, FORBIDDEN):
        web.pages = dict.fromkeys(web.pages, answer)
        for _ in range(2):
            report = await large.night()
            assert (report.status, report.refused_sources) == (RunStatus.FAILED, ("a",))
    assert large.found("pellagra") == ["/pellagra"]


@pytest.mark.parametrize("answer", [SOFT_404, html("beriberi", canonical="/"), RESERVED], ids=["soft-404", "one", "reserved"])
async def test_site_that_calls_all_its_pages_gone_is_not_believed(large: Home, web: Web, answer: str | Visit) -> None:
    """Every page answers, but as an error page, or as the home page, or with a reservation: a fault rather than a wish."""
    await large.night()
    whole = dict(web.pages)
    web.pages = dict.fromkeys(web.pages, answer)
    reports = [await large.night() for _ in range(3)]

    assert reports[-1].refused_sources == ("a",)
    assert "of 20 pages are no longer what they were" in " ".join(reports[-1].problems)
    assert large.found("pellagra") == ["/pellagra"]
    web.pages = whole
    report = await large.night()
    assert (report.refused_sources, large.found("pellagra")) == ((), ["/pellagra"])
    assert len(set(large.found("scheda"))) == 20


async def test_site_that_gives_all_its_pages_new_addresses_is_believed(large: Home, web: Web) -> None:
    await large.night()
    web.pages = {f"/nuovo{path}": answer for path, answer in web.pages.items()}
    first = await large.night()
    assert (counts(first), large.embedder.passages) == ({"moved": 20, "retired": 20}, [])
    for _ in range(2):
        report = await large.night()
        assert (report.problems, counts(report)) == ((), {"unchanged": 20})
    assert large.found("pellagra") == ["/nuovo/pellagra"]
    assert len(await large.addresses()) == 20


async def test_site_that_really_took_its_pages_down_goes_when_the_operator_believes_it(large: Home, web: Web) -> None:
    await large.night()
    web.pages |= dict.fromkeys([f"/{n}" for n in range(10)], SOFT_404)
    for _ in range(2):
        await large.night()
    report = await large.night(accept_smaller=True)

    assert counts(report)["retired"] == 10
    assert (large.found("quazark"), large.found("pellagra")) == ([], ["/pellagra"])


async def test_source_that_gives_nothing_at_all_is_told(home: Home, web: Web) -> None:
    web.pages = {"/": FORBIDDEN}
    report = await home.night()

    assert report.problems == ("a: gave no page at all",)
    assert report.refusals == {"a": {"robots": 1}}


# Sources that come and go.


async def test_source_taken_out_is_withdrawn_and_none_of_its_bytes_stay(home: Home, web: Web) -> None:
    home.sources.write_text(sources("a", "b"), encoding="utf-8")
    web.of["b"] = {"/b/uno": html("beriberi", "Una frase che sta solo qui, canarino.")}
    await home.night()
    assert b"canarino" in home.bytes()
    (home.path / "crawl/b.xml").write_text("canarino di una notte interrotta", encoding="utf-8")
    home.sources.write_text(sources("a"), encoding="utf-8")
    await home.night()

    assert (home.found("canarino"), home.found("pellagra")) == ([], ["/pellagra"])
    assert b"canarino" not in home.bytes()


async def test_small_source_leaves_no_deleted_rows_in_the_index(large: Home, web: Web) -> None:
    large.sources.write_text(sources("a", "b"), encoding="utf-8")
    web.of["b"] = {"/b/uno": html("beriberi")}
    await large.night()
    large.sources.write_text(sources("a"), encoding="utf-8")
    report = await large.night()

    assert (report.problems, large.found("beriberi"), len(large.found("scheda"))) == ((), [], 20)
    assert not list((large.path / "index").rglob("_deletions/*"))


async def test_last_source_of_a_language_can_be_withdrawn(home: Home, web: Web) -> None:
    await home.night()
    home.sources.write_text(sources("b"), encoding="utf-8")
    web.of["b"] = {}
    await home.night()

    assert home.found("pellagra") == []


async def test_source_with_a_new_name_loses_no_page_for_a_night(home: Home, web: Web) -> None:
    await home.night()
    home.sources.write_text(sources("nuovo"), encoding="utf-8")
    report = await home.night()

    assert report.refusals == {}
    assert home.found("pellagra") == ["/pellagra"]
    async with Ledger.open(ledger_path(home.path)) as ledger:
        assert {state.source_id for state in (await ledger.page_states()).values()} == {"nuovo"}
