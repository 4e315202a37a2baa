from ingest.crawler.frontier import Frontier, Step


def test_an_address_is_asked_for_once() -> None:
    frontier = Frontier(max_pages=10, max_depth=3)
    assert frontier.find("a", 1) is Step.ASK
    assert frontier.find("a", 1) is Step.NOTHING
    assert len(frontier) == 1


def test_beyond_the_cap_of_pages_nothing_is_asked_for_and_the_frontier_is_full() -> None:
    frontier = Frontier(max_pages=2, max_depth=3)
    steps = [frontier.find(url) for url in "abc"]
    assert steps == [Step.ASK, Step.ASK, Step.NOTHING]
    assert frontier.is_full


def test_the_target_of_a_redirect_does_not_count() -> None:
    frontier = Frontier(max_pages=1, max_depth=3)
    frontier.find("a")
    assert frontier.find("b", counts=False) is Step.ASK
    assert not frontier.is_full


def test_beyond_the_depth_nothing_is_asked_for_and_the_frontier_is_not_full() -> None:
    frontier = Frontier(max_pages=10, max_depth=2)
    assert frontier.find("a", 2) is Step.ASK
    assert frontier.find("b", 3) is Step.NOTHING
    assert not frontier.is_full


def test_links_of_the_deepest_pages_are_not_followed() -> None:
    frontier = Frontier(max_pages=10, max_depth=2)
    frontier.find("a", 1)
    frontier.find("b", 2)
    assert (frontier.depth_of_links("a"), frontier.depth_of_links("b")) == (2, None)


def test_with_depth_0_no_link_is_followed() -> None:
    frontier = Frontier(max_pages=10, max_depth=0)
    assert frontier.find("a", 0) is Step.ASK
    assert frontier.depth_of_links("a") is None


def test_a_page_without_a_depth_is_not_followed_until_links_reach_it() -> None:
    frontier = Frontier(max_pages=10, max_depth=3)
    frontier.find("known")
    frontier.mark_read("known")
    assert frontier.depth_of_links("known") is None
    assert frontier.find("known", 1) is Step.FOLLOW
    assert frontier.depth_of_links("known") == 2


def test_a_page_that_is_still_awaited_is_followed_when_it_comes() -> None:
    frontier = Frontier(max_pages=10, max_depth=3)
    frontier.find("known")
    assert frontier.find("known", 1) is Step.NOTHING
    assert frontier.depth_of_links("known") == 2


def test_a_shorter_way_to_a_page_counts_and_a_longer_one_does_not() -> None:
    frontier = Frontier(max_pages=10, max_depth=5)
    frontier.find("a", 4)
    frontier.mark_read("a")
    assert frontier.find("a", 2) is Step.FOLLOW
    assert frontier.find("a", 3) is Step.NOTHING
    assert frontier.depth("a") == 2
