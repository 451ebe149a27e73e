import math
import re

import pytest
import torch

from course.attention.functional import attention_entropy, softmax_jacobian
from course.explorers import scaling
from course.explorers.accessibility import names_of
from course.explorers.panel import Panel
from course.explorers.scaling import BINS, NUM_KEYS, OFF, ON, SIZES, draw, explore_scaling


@pytest.fixture(scope="module")
def drawn() -> scaling.Draw:
    return draw(seed=0)


class Controls:
    """The controls of a panel, as a learner finds them."""

    def __init__(self, panel: Panel) -> None:
        controls, *self.pictures = panel.children[:-1]
        self.doublings, self.size, self.divided, self.again = controls.children
        self.panel = panel

    def pixels(self) -> list[bytes]:
        return [bytes(picture.value) for picture in self.pictures]

    def numbers(self) -> dict[str, float]:
        """The numbers of the sentence."""
        found = re.fullmatch(
            r"d_k = (?P<d_k>\d+), scores (?:not divided|divided by √d_k): their standard deviation "
            r"is (?P<spread>[\d.]+)\. The query shown gives its largest weight, "
            r"(?P<weight>[\d.]+), to key (?P<key>\d+)\. Over 512 queries, entropy is "
            r"(?P<entropy>[\d.]+) of at most 2\.77, and the trace of the Jacobian "
            r"(?P<trace>[\d.]+) of at most 0\.94\.",
            self.panel.voice.sentence,
        )
        assert found, self.panel.voice.sentence
        return {name: float(text) for name, text in found.groupdict().items()}


@pytest.fixture
def controls() -> Controls:
    return Controls(explore_scaling())


# The numbers


def test_scores_are_dot_products_of_numbers_of_variance_one(drawn: scaling.Draw) -> None:
    spreads = drawn.scores.flatten(start_dim=2).std(dim=-1)  # (2, sizes)
    roots = torch.tensor(SIZES).sqrt()
    assert torch.allclose(spreads[OFF] / roots, torch.ones(len(SIZES)), atol=0.05)
    assert torch.allclose(spreads[ON], torch.ones(len(SIZES)), atol=0.05)
    roots = roots[:, None, None]
    assert torch.allclose(drawn.scores[ON] * roots, drawn.scores[OFF], atol=1e-4)


def test_weights_and_averages_belong_to_the_scores(drawn: scaling.Draw) -> None:
    for division in (OFF, ON):
        for index in (0, 6, 10):
            weights = torch.softmax(drawn.scores[division, index], dim=-1)
            assert torch.allclose(drawn.weights[division, index], weights)
            entropy = attention_entropy(weights).mean()
            assert torch.allclose(drawn.entropy[division, index], entropy)
            trace = torch.vmap(torch.trace)(softmax_jacobian(weights)).mean()
            assert torch.allclose(drawn.trace[division, index], trace, atol=1e-6)


def test_entropy_and_trace_are_those_that_the_lesson_tells_of(drawn: scaling.Draw) -> None:
    at = {d_k: SIZES.index(d_k) for d_k in (1, 64, 1024)}
    entropy = drawn.entropy
    for d_k, expected in ((1, 2.43), (64, 0.40), (1024, 0.10)):
        assert entropy[OFF, at[d_k]].item() == pytest.approx(expected, abs=0.03)
    for d_k, expected in ((1, 2.44), (64, 2.35), (1024, 2.35)):
        assert entropy[ON, at[d_k]].item() == pytest.approx(expected, abs=0.03)
    for falling in (entropy[OFF], drawn.trace[OFF]):
        assert (falling.diff() < 0).all()
    assert (drawn.trace[ON] - drawn.trace[ON].mean()).abs().max() < 0.02
    assert entropy.max() < math.log(NUM_KEYS)
    assert drawn.trace.max() < 1 - 1 / NUM_KEYS


def test_a_draw_can_be_repeated_and_another_one_differs(drawn: scaling.Draw) -> None:
    assert torch.equal(draw(seed=0).scores, drawn.scores)
    assert not torch.equal(draw(seed=1).scores, drawn.scores)
    state = torch.random.get_rng_state()
    draw(seed=1)
    assert torch.equal(torch.random.get_rng_state(), state)  # torch's own generator stays


def test_hardly_a_score_lies_outside_the_histogram(drawn: scaling.Draw) -> None:
    assert (drawn.scores.abs() > BINS[-1]).double().mean(dim=(2, 3)).max() < 0.005


# The picture


def test_it_starts_with_one_number_and_no_division(controls: Controls) -> None:
    assert (controls.doublings.value, controls.divided.value) == (0, OFF)
    assert controls.size.value == "1"
    assert controls.numbers()["d_k"] == 1
    assert all(pixels.startswith(b"\x89PNG") for pixels in controls.pixels())


def test_the_sentence_and_the_picture_follow_every_control(
    controls: Controls, drawn: scaling.Draw
) -> None:
    seen = [controls.pixels()]

    def it_changed() -> bool:
        seen.append(controls.pixels())
        return all(new != old for new, old in zip(seen[-1], seen[-2], strict=True))

    controls.doublings.value = 6
    assert controls.size.value == "64"
    numbers = controls.numbers()
    weights = drawn.weights[OFF, 6, 0]
    assert numbers == {
        "d_k": 64,
        "spread": pytest.approx(8, abs=0.3),
        "weight": pytest.approx(weights.max().item(), abs=0.006),
        "key": weights.argmax().item() + 1,
        "entropy": pytest.approx(drawn.entropy[OFF, 6].item(), abs=0.006),
        "trace": pytest.approx(drawn.trace[OFF, 6].item(), abs=0.006),
    }
    assert it_changed()

    controls.divided.value = ON
    assert "scores divided by √d_k" in controls.panel.voice.sentence
    assert controls.numbers()["spread"] == 1.0
    assert controls.numbers()["entropy"] == pytest.approx(drawn.entropy[ON, 6].item(), abs=0.006)
    assert it_changed()

    before = controls.panel.voice.sentence
    controls.again.click()
    assert controls.panel.voice.sentence != before
    assert controls.numbers()["d_k"] == 64  # what is set stays
    assert it_changed()
    assert controls.panel.voice.error == ""


def test_back_at_the_start_the_picture_is_the_first_one(controls: Controls) -> None:
    first = controls.pixels()
    for value in (10, 3, 0):
        controls.doublings.value = value
    assert controls.pixels() == first


def test_division_changes_nothing_at_one_number_per_vector(controls: Controls) -> None:
    before = controls.numbers()
    controls.divided.value = ON
    assert controls.numbers() == before


def test_every_control_and_picture_has_a_name(controls: Controls) -> None:
    names = [entry["name"] for entry in names_of(controls.panel.children)]
    assert names[:3] == ["d_k: how often 1 is doubled", "Divide by √d_k", "Draw other numbers"]
    assert [name.split(",")[0] for name in names[3:]] == ["Top left"]
    still = controls.panel._repr_mimebundle_()["text/html"]
    assert still.count("data:image/png;base64,") == 1
    assert controls.panel.voice.sentence in still


def test_an_error_stands_in_the_panel(controls: Controls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "draw", lambda seed: 1 / 0)
    controls.again.click()
    assert controls.panel.voice.error == "ZeroDivisionError: division by zero"
