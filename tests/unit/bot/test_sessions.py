import asyncio

from bot.session import MAX_TURN_CHARACTERS, Session
from bot.sessions import Sessions, key_of
from channels.messages import Platform
from locales.language import Language
from rag.types import Question
from tests.builders import answer, inbound, red_flag


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


KEY = (Platform.TELEGRAM, "chat", "42")


def test_one_person_in_two_chats_has_two_sessions() -> None:
    assert key_of(inbound(chat="a")) != key_of(inbound(chat="b"))
    assert key_of(inbound(chat="a", text="x")) == key_of(inbound(chat="a", text="y"))


def test_only_the_last_turns_are_kept_and_none_longer_than_the_limit() -> None:
    session = Session(last_seen=0)
    for number in range(20):
        session.remember(f"{number:02d}" + "a" * 100, number)
    assert len(session.earlier()) == 15
    assert session.earlier()[0].startswith("05")
    session.remember("b" * 5000, 20)
    assert max(map(len, session.earlier())) == MAX_TURN_CHARACTERS


def test_the_burst_is_the_last_minute() -> None:
    session = Session(last_seen=0)
    session.remember("long ago", 0)
    session.remember("just now", 50)
    assert session.burst(70) == ("just now",)


def test_no_word_of_a_patient_is_in_a_repr() -> None:
    session = Session(last_seen=0)
    session.remember("dolore al petto", 0)
    session.keep_pending("dolore al petto", 0)
    assert "petto" not in repr(session)
    assert "petto" not in repr(session.turns)


def test_a_session_is_closed_after_its_idle_time_and_not_at_the_next_message() -> None:
    clock = Clock()
    sessions = Sessions(idle_s=1800, clock=clock)
    sessions.touch(KEY).remember("words", clock.now)
    clock.now += 1799
    assert sessions.purge() == 1
    clock.now += 1
    assert sessions.purge() is None
    assert len(sessions) == 0


def test_in_a_session_that_goes_on_a_turn_lives_no_longer() -> None:
    clock = Clock()
    sessions = Sessions(idle_s=1800, clock=clock)
    session = sessions.touch(KEY)
    session.remember("first", clock.now)
    session.keep_pending("put off", clock.now)
    clock.now += 1000
    sessions.touch(KEY).remember("second", clock.now)
    clock.now += 800
    assert sessions.purge() == 1000
    assert session.earlier() == ("second",)
    assert session.take_pending() is None


async def test_the_purger_closes_sessions_by_itself() -> None:
    sessions = Sessions(idle_s=0.05)
    purger = asyncio.create_task(sessions.purge_forever())
    await asyncio.sleep(0.01)
    sessions.touch(KEY)
    await asyncio.sleep(0.25)
    assert len(sessions) == 0
    sessions.touch(KEY)
    await asyncio.sleep(0.25)
    assert len(sessions) == 0
    purger.cancel()


def test_one_session_too_many_drops_the_one_untouched_longest() -> None:
    sessions = Sessions(limit=2, clock=Clock())
    first, second, third = ((Platform.TELEGRAM, name, name) for name in "abc")
    kept = sessions.touch(first)
    sessions.touch(second)
    sessions.touch(first)
    sessions.touch(third)
    assert sessions.touch(first) is kept
    assert len(sessions) == 2


def test_forgetting_keeps_only_what_the_patient_chose() -> None:
    session = Session(last_seen=0, language=Language.SPANISH, country="MX", language_prior=Language.SPANISH, met=True)
    session.remember("words", 0)
    session.keep_pending("words", 0)
    session.forget()
    assert session.earlier() == ()
    assert session.take_pending() is None
    assert session.language_prior is None
    assert (session.language, session.country, session.met) == (Language.SPANISH, "MX", True)


def test_an_escalation_of_the_same_kind_is_a_repeat_for_ten_minutes() -> None:
    session = Session(last_seen=0)
    assert session.note_escalation(red_flag(category="heart"), 0) is False
    assert session.note_escalation(red_flag(category="stroke"), 1) is False
    assert session.note_escalation(red_flag(category="heart"), 599) is True
    assert session.note_escalation(red_flag(category="heart"), 600) is False


def test_a_put_off_question_is_given_once() -> None:
    session = Session(last_seen=0)
    session.keep_pending("question", 0)
    assert session.take_pending() == "question"
    assert session.take_pending() is None


def test_the_last_answer_is_kept_under_its_own_number_only() -> None:
    session, first, second = Session(last_seen=0), answer(), answer()
    old, new = session.keep_answer(first, 0), session.keep_answer(second, 0)
    assert session.kept_answer() is session.kept_answer(new) is second
    assert session.kept_answer(old) is None


def test_answers_to_one_question_are_kept_beside_each_other_until_another_is_answered() -> None:
    session, question = Session(last_seen=0), Question(text="che cos'è la febbre?")
    first, more = answer(), answer()
    numbers = [session.keep_answer(first, 0, question), session.keep_answer(more, 0, question)]
    assert [session.kept_answer(number) for number in numbers] == [first, more]
    assert session.kept_answer() is more
    session.keep_answer(answer(), 0, Question(text="che cos'è la febbre?"))
    assert [session.kept_answer(number) for number in numbers] == [None, None]


def test_of_answers_to_one_question_each_is_dropped_in_its_time() -> None:
    session, question = Session(last_seen=0), Question(text="che cos'è la febbre?")
    old, new = session.keep_answer(answer(), 0, question), session.keep_answer(answer(), 100, question)
    session.forget_before(50)
    assert session.kept_answer(old) is None
    assert session.kept_answer(new) is not None
    assert session.oldest() == 0  # last seen
    for moment in range(101, 110):
        session.keep_answer(answer(), moment, question)
    assert len(session.kept) == 3


def test_the_question_of_an_answer_goes_with_its_oldest_words_however_young_the_answer_is() -> None:
    session, question = Session(last_seen=0), Question(text="e nei bambini?", earlier=("mia figlia ha la febbre",))
    session.remember("mia figlia ha la febbre", 0)
    session.remember(question.text, 1_700)
    session.keep_answer(answer(), 1_710, question, worded_at=session.words_since(1_705))
    session.keep_answer(answer(), 1_790, question, worded_at=session.kept[-1].worded_at)
    assert session.oldest() == 0
    session.forget_before(1)
    assert [kept.question for kept in session.kept] == [None, None]
    assert session.kept_answer() is not None
    assert session.oldest() == 0  # last seen


def test_no_two_answers_have_the_same_number_also_in_two_sessions() -> None:
    numbers = {Session(last_seen=0).keep_answer(answer(), 0) for _ in range(100)}
    assert len(numbers) == 100


def test_an_answer_is_dropped_after_thirty_minutes_in_a_session_that_goes_on() -> None:
    clock = Clock()
    sessions = Sessions(idle_s=1800, clock=clock)
    sessions.touch(KEY).keep_answer(answer(), clock.now)
    clock.now += 1000
    session = sessions.touch(KEY)
    assert sessions.purge() == 800
    assert session.kept_answer() is not None
    clock.now += 800
    sessions.purge()
    assert sessions.touch(KEY) is session
    assert session.kept_answer() is None


def test_who_starts_anew_leaves_no_answer_behind() -> None:
    session = Session(last_seen=0, just_answered=True)
    session.keep_answer(answer(), 0)
    session.forget()
    assert session.kept_answer() is None
    assert not session.just_answered


def test_after_an_emergency_no_answer_was_just_given() -> None:
    session = Session(last_seen=0, just_answered=True)
    session.note_escalation(red_flag(), 0)
    assert not session.just_answered


def test_long_messages_push_older_ones_out() -> None:
    session = Session(last_seen=0)
    for number in range(15):
        session.remember(f"{number} " + "x" * 5_000, 0.0)
    assert sum(map(len, session.earlier())) <= 12_000
    assert session.earlier()[-1].startswith("14")


def test_of_many_kept_answers_the_latest_stay() -> None:
    sessions = Sessions(limit=6_000)
    keys = [(Platform.TELEGRAM, str(number), str(number)) for number in range(5_001)]
    for key in keys:
        sessions.touch(key).keep_answer(answer(), 0.0)
        sessions.note_kept(key)
    assert sessions.touch(keys[0]).kept_answer() is None
    assert sessions.touch(keys[-1]).kept_answer() is not None


def test_no_trace_of_a_kept_answer_outlives_its_session() -> None:
    clock = Clock()
    sessions = Sessions(clock=clock, limit=2)
    for name, end in (("1", "dropped"), ("2", "too old"), ("3", "pushed out")):
        key = (Platform.TELEGRAM, name, name)
        sessions.touch(key).keep_answer(answer(), clock.now)
        sessions.note_kept(key)
        if end == "dropped":
            sessions.drop(key)
        elif end == "too old":
            clock.now += 2_000
            sessions.purge()
        else:
            for other in "45":
                sessions.touch((Platform.TELEGRAM, other, other))
        assert not sessions._kept, end


def test_a_session_opened_anew_in_the_middle_of_a_sweep_is_not_dropped() -> None:
    clock = Clock()
    sessions = Sessions(clock=clock)
    old = [(Platform.TELEGRAM, str(number), str(number)) for number in range(501)]
    for key in old:
        sessions.touch(key)
    clock.now += 2_000
    sweep = sessions._sweep(clock.now - 1_800)
    next(sweep)
    sessions.drop(old[-1])
    fresh = sessions.touch(old[-1])
    list(sweep)
    assert sessions.touch(old[-1]) is fresh
