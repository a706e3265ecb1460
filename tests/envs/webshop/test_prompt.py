"""The published runs' prompt and reply format on WebShop: layout, length, shown part of a page."""

from __future__ import annotations

import pytest

from cairn.envs.webshop.env import WebShopEnv
from cairn.envs.webshop.prompt import MAX_CHARS, build_prompt, parse_reply, task_of, write_reply

TASK = "Find me soft shirts, and price lower than 30.00 dollars"
START = f"WebShop [SEP] Instruction: [SEP] {TASK} [SEP] Search"
RESULTS = (
    f"Instruction: [SEP] {TASK} [SEP] Back to Search [SEP] Page 1 (Total results: 1) [SEP] Next > [SEP] G1 [SEP] It's"
)


def test_the_task_is_read_from_the_first_page() -> None:
    assert task_of(START) == TASK
    env = WebShopEnv()
    text, info = env.reset(seed=3)
    assert task_of(text) == env.goal(info["task_id"]).instruction
    with pytest.raises(ValueError, match="Expected a page with 'Instruction: "):
        task_of("Thank you for shopping with us!")


def test_the_first_prompt_offers_any_search() -> None:
    prompt = build_prompt(task=TASK, history=[], observation=START, admissible=[f"search[{TASK}]"])
    assert prompt == (
        f"You are an agent that shops in a web shop by text actions.\nYour task is to: {TASK}\n\n"
        "This is step 1. You now observe: 'Search'\n\n"
        "The actions that you can take now are:\n['search[<your query>]']\n\n"
        "First reason step by step about the situation, inside <think> </think> tags. "
        "Then choose one of the actions above and give it inside <action> </action> tags."
    )


def test_a_page_is_shown_without_the_instruction_and_its_pieces_in_quotes() -> None:
    prompt = build_prompt(task=TASK, history=[], observation=RESULTS, admissible=["click[g1]", "click[next >]"])
    page = "'Back to Search' [SEP] 'Page 1 (Total results: 1)' [SEP] 'Next >' [SEP] 'G1' [SEP] 'It's'"
    assert f"You now observe: {page}\n" in prompt
    assert "['click[g1]',\n 'click[next >]']" in prompt
    assert "<your query>" not in prompt


def test_later_prompts_show_the_last_two_turns() -> None:
    history = [(START, "search[a]"), (RESULTS, "click[g1]"), (START, "search[b]")]
    prompt = build_prompt(task=TASK, history=history, observation=RESULTS, admissible=[])
    assert (
        "You have taken 3 step(s). The last 2, with what you saw and did:\n[Observation 2: ''Back to Search' " in prompt
    )
    assert "Action 2: 'click[g1]']\n[Observation 3: ''Search'', Action 3: 'search[b]']" in prompt
    assert "search[a]" not in prompt


@pytest.mark.parametrize(("spare", "is_shown"), [(0, True), (-1, False)])
def test_history_is_left_out_of_a_prompt_that_would_be_too_long(spare: int, is_shown: bool) -> None:
    def prompt(length: int) -> str:
        history = [(START, "search[" + "x" * length + "]")]
        return build_prompt(task=TASK, history=history, observation=RESULTS, admissible=[])

    fitting = MAX_CHARS - len(prompt(0))
    assert ("Observation 1" in prompt(fitting - spare)) is is_shown


def test_replies_are_read_as_in_the_public_code() -> None:
    assert parse_reply(write_reply("click[buy now]")).action == "click[buy now]"
    assert parse_reply(write_reply("click[buy now]")).is_valid
    untagged = parse_reply("I would rather click[Buy Now]")
    assert (untagged.action, untagged.is_valid) == ("ather click[buy now]", False)
