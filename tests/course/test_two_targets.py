import re

import numpy as np
import pytest
import torch
from torch import Tensor

from course.explorers import two_targets
from course.explorers.accessibility import names_of
from course.explorers.panel import Panel
from course.explorers.two_targets import (
    FEATURES,
    FIXED,
    HALF,
    READ_OUTS,
    REFITTED,
    draw,
    evaluate,
    explore_two_targets,
    wanted_of,
)

EXACT = torch.eye(2 * FEATURES, dtype=torch.float64)
"""The moments of independent features with variance 1, without the chance of a draw."""


def alphas(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


# The numbers


def test_features_are_independent_with_variance_one() -> None:
    both = draw(seed=0, num_sentences=20_000)
    moments = both.T @ both / len(both)
    assert torch.allclose(moments, EXACT, atol=0.05)
    state = torch.random.get_rng_state()
    assert torch.equal(draw(seed=0, num_sentences=20_000), both)
    assert torch.equal(torch.random.get_rng_state(), state)  # torch's own generator stays


def test_half_of_what_is_wanted_comes_from_each_word() -> None:
    both = torch.arange(2 * FEATURES)
    assert wanted_of(both).tolist() == [0, 1, 2, 3, 12, 13, 14, 15]


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 0.8, 1.0])
def test_one_head_is_a_seesaw(alpha: float) -> None:
    fixed = evaluate(EXACT, alphas(alpha), FIXED)
    assert fixed.errors.tolist() == pytest.approx([2 * (1 - alpha) ** 2, 2 * alpha**2])
    assert fixed.r_squared.item() == pytest.approx(2 * alpha * (1 - alpha))

    refitted = evaluate(EXACT, alphas(alpha), REFITTED)
    known = alpha**2 / (alpha**2 + (1 - alpha) ** 2)
    assert refitted.errors.tolist() == pytest.approx([1 - known, known])
    assert refitted.r_squared.item() == pytest.approx(0.5)  # wherever α is


@pytest.mark.parametrize("read_out", READ_OUTS)
def test_two_heads_reach_everything_and_alike_they_are_one(read_out: str) -> None:
    apart = evaluate(EXACT, alphas(1, 0), read_out)
    assert apart.r_squared.item() == pytest.approx(1)
    assert apart.errors.tolist() == pytest.approx([0, 0])
    for alpha in (0.2, 0.5, 0.9):
        two = evaluate(EXACT, alphas(alpha, alpha), read_out)
        one = evaluate(EXACT, alphas(alpha), read_out)
        assert two.r_squared.item() == pytest.approx(one.r_squared.item())


def test_errors_are_those_of_the_sentences() -> None:
    both = draw(seed=3, num_sentences=2_000)
    moments = both.T @ both / len(both)
    wanted = wanted_of(both)
    for weights in (alphas(0.7), alphas(0.7, 0.2)):
        for read_out in READ_OUTS:
            result = evaluate(moments, weights, read_out)
            carried = both @ result.carries
            output = carried @ result.read_out
            per_feature = ((output - wanted) ** 2).sum(dim=0).unflatten(0, (2, HALF)).sum(dim=-1)
            of_wanted = (wanted**2).sum(dim=0).unflatten(0, (2, HALF)).sum(dim=-1)
            assert torch.allclose(result.errors, per_feature / of_wanted)
            share = ((output - wanted) ** 2).sum() / (wanted**2).sum()
            assert result.r_squared.item() == pytest.approx(1 - share.item())
        best = np.linalg.lstsq(carried.numpy(), wanted.numpy(), rcond=None)[0]
        assert result.read_out.numpy() == pytest.approx(best)


def test_many_weights_at_once_give_what_each_gives_alone() -> None:
    together = torch.rand(5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for read_out in READ_OUTS:
        at_once = evaluate(EXACT, together, read_out).r_squared
        alone = [evaluate(EXACT, one, read_out).r_squared for one in together]
        assert torch.allclose(at_once, torch.stack(alone))


# The picture


class Controls:
    """The controls of a panel, as a learner finds them."""

    def __init__(self, panel: Panel) -> None:
        controls, self.picture, self.canvas = panel.children[:-1]
        self.heads, self.read_out, self.first, self.second = controls.children
        self.panel = panel

    @property
    def sentence(self) -> str:
        return self.panel.voice.sentence

    def numbers(self) -> list[float]:
        """Errors of cat, tired and all, and R², as the sentence states them."""
        found = re.search(
            r"from “cat” ([\d.]+), from “tired” ([\d.]+), of all ([\d.]+)\. R² = (−?[\d.]+)\.$",
            self.sentence,
        )
        assert found, self.sentence
        return [float(text.replace("−", "-")) for text in found.groups()]


@pytest.fixture
def controls() -> Controls:
    return Controls(explore_two_targets())


def test_it_starts_with_one_head_that_looks_at_cat_alone(controls: Controls) -> None:
    assert controls.sentence.startswith("The head gives “cat” 1.00 and “tired” 0.00; ")
    assert "the read-out is fixed" in controls.sentence
    assert controls.numbers() == pytest.approx([0, 2, 1, 0], abs=0.02)
    assert controls.second.layout.display == "none"
    assert bytes(controls.picture.value).startswith(b"\x89PNG")


def test_the_sentence_and_both_pictures_follow_every_control(controls: Controls) -> None:
    pictures = [bytes(controls.picture.value)]

    def changed() -> bool:
        pictures.append(bytes(controls.picture.value))
        return pictures[-1] != pictures[-2]

    controls.first.value = 0.5
    assert controls.numbers() == pytest.approx([0.5, 0.5, 0.5, 0.5], abs=0.01)
    assert changed()
    controls.first.value = 0.8
    assert controls.numbers() == pytest.approx([0.08, 1.28, 0.68, 0.32], abs=0.01)
    assert changed()
    controls.read_out.value = REFITTED
    assert "the read-out is refitted" in controls.sentence
    assert controls.numbers()[-1] == 0.5
    assert changed()

    controls.heads.value = 2  # the second one begins where the first one is
    assert controls.second.value == 0.8
    assert controls.second.layout.display is None
    assert controls.numbers()[-1] == 0.5
    controls.first.value, controls.second.value = 1.0, 0.0
    assert controls.numbers() == [0, 0, 0, 1]
    assert "Head 1 gives “cat” 1.00 and “tired” 0.00, head 2 gives “cat” 0.00" in controls.sentence
    controls.read_out.value = FIXED
    assert controls.numbers() == [0, 0, 0, 1]
    controls.first.value, controls.second.value = 0.0, 1.0
    assert controls.numbers() == pytest.approx([2, 2, 2, -1], abs=0.02)
    assert changed()

    controls.heads.value = 1
    assert controls.second.layout.display == "none"
    assert controls.sentence.startswith("The head gives “cat” 0.00 and “tired” 1.00; ")
    assert controls.panel.voice.error == ""


def test_the_cells_are_one_sentence_step_by_step(controls: Controls) -> None:
    controls.heads.value = 2
    controls.first.value, controls.second.value = 0.75, 0.5
    (shown,) = controls.canvas.values["sentence"]  # (rows, features)
    cat, tired, carried, output, wanted, error = shown
    assert carried[:HALF] == pytest.approx(0.75 * cat[:HALF] + 0.25 * tired[:HALF], abs=1e-6)
    assert carried[HALF:] == pytest.approx(0.5 * cat[HALF:] + 0.5 * tired[HALF:], abs=1e-6)
    assert output == pytest.approx(carried)  # the read-out is fixed
    assert wanted.tolist() == [*cat[:HALF].tolist(), *tired[HALF:].tolist()]
    assert error == pytest.approx(output - wanted, abs=1e-6)
    assert np.abs(shown).max() < 2.5  # within the colours


def test_every_control_and_picture_has_a_name(controls: Controls) -> None:
    names = [entry["name"] for entry in names_of(controls.panel.children)]
    assert names[:4] == [
        "Heads",
        "Read-out",
        "α of head 1, its weight for cat",
        "α of head 2, its weight for cat",
    ]
    assert names[4].startswith("Left, three bars")
    still = controls.panel._repr_mimebundle_()["text/html"]
    assert "data:image/png;base64," in still
    assert "<svg" in still
    assert controls.sentence in still


def test_an_error_stands_in_the_panel(controls: Controls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_targets, "evaluate", lambda *_: 1 / 0)
    controls.first.value = 0.5
    assert controls.panel.voice.error == "ZeroDivisionError: division by zero"
