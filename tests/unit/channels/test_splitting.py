import re

from hypothesis import given, settings
from hypothesis import strategies as st

from channels import markup, splitting
from channels.markup import Block, parse
from channels.messages import OutboundLink, OutboundMessage
from channels.splitting import Render, join, split, utf16_length

DISCLAIMER = "Salus non sostituisce il medico."
ADDRESS = "https://esempio.it/schede/febbre_nei_bambini?pagina=2&sezione=3"


def texts(blocks: list[Block], render: Render, limit: int) -> list[str]:
    return [join(part, render) for part in split(blocks, render, limit)]


def sentences(characters: int) -> str:
    sentence = "La febbre è una risposta del corpo. "
    return (sentence * (characters // len(sentence) + 1))[:characters].strip()


def long_answer() -> OutboundMessage:
    before, bold, after = sentences(4000), sentences(200), sentences(4600)
    return OutboundMessage(
        paragraphs=(f"{before} **{bold}** {after}",),
        links_heading="Fonti",
        links=(OutboundLink(label="Scheda", url=ADDRESS),),
        closing=(DISCLAIMER,),
    )


def words(text: str) -> list[str]:
    return re.sub(r"</?(?:b|a)\b[^>]*>", "", text).split()


def test_an_emoji_counts_as_two_units() -> None:
    assert utf16_length("🌡" * 2049) == 4098
    assert utf16_length("è") == 1


def test_h02_every_part_is_short_enough_and_closes_the_tags_it_opens() -> None:
    parts = texts(markup.blocks(long_answer()), markup.html, 4096)
    assert len(parts) >= 3
    for part in parts:
        assert utf16_length(part) <= 4096
        assert part.count("<b>") == part.count("</b>")
        assert part.count("<a ") == part.count("</a>")


def test_h02_no_word_is_lost_and_sources_and_disclaimer_come_last() -> None:
    blocks = markup.blocks(long_answer())
    parts = texts(blocks, markup.html, 4096)
    assert words(" ".join(parts)) == words(join(blocks, markup.html))
    assert ADDRESS.replace("&", "&amp;") in parts[-1]
    assert parts[-1].endswith(DISCLAIMER)


def test_h02_parts_end_with_a_sentence() -> None:
    parts = texts([parse(sentences(9000))], markup.plain, 4096)
    assert all(part.endswith("corpo.") for part in parts[:-1])


def test_h02_emoji_are_counted_in_utf16_units_and_none_is_lost() -> None:
    parts = texts([parse("🌡" * 2049)], markup.html, 4096)
    assert [utf16_length(part) for part in parts] == [4096, 2]


def test_a_paragraph_that_fits_a_part_is_not_cut() -> None:
    blocks = [parse(sentences(900)), parse(sentences(900)), parse(DISCLAIMER)]
    parts = split(blocks, markup.plain, 1600)
    assert [len(part) for part in parts] == [1, 2]


def test_h13_an_address_at_the_limit_goes_whole_into_the_next_part() -> None:
    text = f"{'è' * 1580} {ADDRESS} {'parola ' * 300}"
    parts = texts([parse(text)], markup.whatsapp, 1600)
    assert sum(ADDRESS in part for part in parts) == 1
    assert all(utf16_length(part) <= 1600 for part in parts)


def test_h13_an_address_glued_to_a_long_word_is_not_cut() -> None:
    parts = texts([parse("è" * 1580 + ADDRESS)], markup.whatsapp, 1600)
    assert parts == ["è" * 1580, ADDRESS]


def test_an_address_longer_than_any_part_is_left_out_and_its_label_stays() -> None:
    message = OutboundMessage(
        paragraphs=("testo",), links=(OutboundLink(label="Scheda", url="https://esempio.it/" + "a" * 2000),)
    )
    assert texts(markup.blocks(message), markup.whatsapp, 1600)[-1].endswith("Scheda")


def test_a_joined_emoji_and_a_flag_are_not_torn_apart() -> None:
    family, flag = "👨‍👩‍👧", "🇮🇹"
    for sign in (family, flag, "e\u0301", "👍🏽"):
        for part in texts([parse(sign * 40)], markup.plain, 50):
            assert part == sign * (len(part) // len(sign))


def test_escaping_counts_towards_the_limit() -> None:
    parts = texts([parse("<" * 5000)], markup.html, 4096)
    assert all(len(part) <= 4096 and re.fullmatch("(?:&lt;)+", part) for part in parts)
    assert sum(part.count("&lt;") for part in parts) == 5000


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(alphabet="ab è.\n🌡<&*_[]()/:", min_size=1, max_size=200), max_size=6),
    st.integers(min_value=20, max_value=80),
)
def test_any_text_is_cut_into_parts_that_fit_and_lose_no_sign(paragraphs: list[str], limit: int) -> None:
    blocks = markup.blocks(OutboundMessage(paragraphs=tuple(paragraphs)))
    parts = split(blocks, markup.html, limit)
    assert all(utf16_length(join(part, markup.html)) <= limit for part in parts)
    kept = "".join(markup.block_text(block) for part in parts for block in part)
    whole = "".join(markup.block_text(block) for block in blocks)
    assert "".join(kept.split()) == "".join(whole.split())


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="ab è.\n🌡<&", max_size=400), st.integers(min_value=30, max_value=80))
def test_numbered_parts_fit_with_their_number_and_one_alone_has_none(paragraph: str, limit: int) -> None:
    blocks = markup.blocks(OutboundMessage(paragraphs=(paragraph,)))
    parts = [join(part, markup.html) for part in splitting.numbered_parts(blocks, markup.html, limit)]
    assert all(utf16_length(part) <= limit for part in parts)
    if len(parts) > 1:
        assert [part.rpartition("\n\n")[2] for part in parts] == [f"{number}/{len(parts)}" for number in range(1, len(parts) + 1)]
    else:
        assert parts == texts(blocks, markup.html, limit)


def test_nothing_gives_no_part() -> None:
    assert splitting.split([], markup.plain, 100) == []
