"""What an explorer tells a reader to try: every button of the sentence pressed in turn, and what is to be seen then."""

from urllib.parse import parse_qs

import numpy as np
import pytest
from bs4 import BeautifulSoup

from book.explorers import (
    dherin_patch,
    lenses_cut,
    lenses_floor,
    lenses_log_partition,
    li_coefficient_sum,
    li_training_map,
    zhang_basins,
    zhang_error,
)

LENSES = (lenses_cut, lenses_floor, lenses_log_partition)
MODULES = (dherin_patch, *LENSES, li_coefficient_sum, li_training_map, zhang_basins, zhang_error)


def place(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split(",")))


READ = {"slider": float, "choice": str}
"""What a button's text means by the kind of control that it sets; elsewhere it is a place."""


def pressed(module) -> dict[str, dict]:
    """The start, and the state after each button of the sentence, by the button's words."""
    one = module.EXPLORER
    controls, states = {control.name: control for control in one.controls}, {"start": dict(one.start)}
    for button in BeautifulSoup(one.html(), "html.parser").select(".tries button.preset"):
        state = dict([*states.values()][-1])
        for name, (value,) in parse_qs(button["data-set"], strict_parsing=True).items():
            state[name] = READ.get(controls[name].kind, place)(value)
        states[button.get_text()] = state
    return states


def said(module, words: str) -> str:
    return module.EXPLORER.parts(pressed(module)[words])["reading"]["text"]


def test_longer_training_prompts_raise_the_error_and_stretched_inputs_raise_it_above_that_of_0():
    start, equal, longer, stretched = (zhang_error.values(state) for state in pressed(zhang_error).values())
    assert equal["error"] < start["error"] < longer["error"] < 1 < stretched["error"]
    states = pressed(zhang_error)
    assert states["Stretch the test inputs"]["c"] > 1 and states["Set N = M"]["N"] == states["Set N = M"]["M"]
    assert "so it is worse than that" in said(zhang_error, "Stretch the test inputs")


def test_a_short_attention_makes_a_large_patch_and_on_the_grey_line_it_is_right_for_both():
    start, short, there = (dherin_patch.values(state) for state in pressed(dherin_patch).values())
    assert short["norm"] > 5 * start["norm"] and short["miss"] > start["miss"] > 0.5 and there["miss"] < 1e-12


def test_at_1_the_hinge_is_low_and_rescaled_patterns_are_answered_wrongly():
    states = pressed(li_coefficient_sum)
    _, one, rescaled = (li_coefficient_sum.values(state) for state in states.values())
    down = li_coefficient_sum.values(states["at 1 with fixed norm"] | {"S": 0.0})
    assert one["hinge"] < 1e-3 < 0.05 < down["hinge"] and max(one["error"], down["error"]) < 1e-3 < 0.1 < rescaled["error"]


def test_patterns_that_no_task_names_never_get_the_attention():
    states = pressed(li_training_map)
    half = li_training_map.values(states["half of the patterns"])
    last = li_training_map.values(states["start"] | {"step": 1000})
    assert half["most"] > 0.8 and half["least"] < 0.3 and last["least"] > 0.8
    before, between = (li_training_map.values(states["start"] | {"step": step}) for step in (35, 45))
    assert before["most"] < 0.4 < 0.5 < between["most"]


def test_the_flow_ends_in_a_local_minimum_and_longer_prompts_leave_the_border_in_its_place():
    start, minimum, longer = pressed(zhang_basins).values()
    ends = [zhang_basins.values(state) for state in (start, minimum, longer)]
    assert ends[0]["after"] == pytest.approx(1) and min(each["after"] for each in ends[1:]) > 1.1
    short, long = (np.array(zhang_basins.stored()[state["N"]]["border"]) for state in (minimum, longer))
    places = [np.interp(short[:, 1], each[:, 1], each[:, 0]) for each in (short, long)]
    assert np.abs(places[1] - places[0]).max() < 0.1


def test_a_cut_answers_a_query_at_right_angles_by_0_and_the_pass_falls_behind_the_step():
    start, across, longer = (lenses_cut.values(state) for state in pressed(lenses_cut).values())
    assert (start["step1"], start["step2"]) == (across["step1"], across["step2"])
    assert abs(across["part"]) < 1e-12 < 0.1 < abs(across["whole"])
    behind = [np.hypot(each["pass1"], each["pass2"]) / np.hypot(each["step1"], each["step2"]) for each in (start, longer)]
    assert behind[1] < 0.85 < 0.9 < behind[0]


def test_a_far_mean_takes_the_block_below_the_floor_which_a_fifth_head_does_not_lower():
    start, away, heads, longer = (lenses_floor.values(state) for state in pressed(lenses_floor).values())
    assert start["block"] > start["floor"] and away["block"] < 0.5 * away["floor"]
    fifth = lenses_floor.values(pressed(lenses_floor)["With four heads"] | {"H": 5})
    assert heads["floor"] < 0.5 * away["floor"] and fifth == heads
    assert max(longer[name] for name in ("floor", "lower", "upper", "block", "bayes")) < 0.05


def test_more_gaussian_tokens_stay_with_the_step_and_patterns_leave_it():
    start, more, patterns = (lenses_log_partition.values(state) for state in pressed(lenses_log_partition).values())
    assert start["slope"] / start["step"] < more["slope"] / more["step"] > 0.9 > 0.6 > patterns["slope"] / patterns["step"]
    assert patterns["step"] == pytest.approx(more["step"], rel=1e-4)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.EXPLORER.name)
def test_every_button_changes_the_picture(module):
    drawn = [str(module.EXPLORER.svg(state)) for state in pressed(module).values()]
    assert len({*drawn}) == len(drawn)
