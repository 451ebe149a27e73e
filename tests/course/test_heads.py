import re
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from course.attention.functional import (
    multi_head_attention,
    multi_head_attention_with_output,
    scaled_dot_product_attention,
)
from course.explorers import heads as heads_module
from course.explorers.accessibility import names_of
from course.explorers.budget import BLEU, explore_budget
from course.explorers.canvas import Canvas
from course.explorers.heads import (
    COUPLED,
    D_MODEL,
    DIVISORS,
    FREE,
    MOST_HEADS,
    WORDS,
    Untrained,
    explore_heads,
)
from course.explorers.heads_cost import Setting, costs
from course.explorers.heads_pictures import cost_table, reshape_picture
from course.explorers.panel import Panel


class Controls:
    """The controls of a panel, as a learner finds them."""

    def __init__(self, panel: Panel) -> None:
        controls, self.reshape, self.costs, self.canvas = panel.children[:-1]
        self.fixed, self.count, self.count_label, self.size, self.size_label = controls.children
        self.panel = panel

    def numbers(self) -> dict[str, int]:
        """The numbers of the sentence."""
        found = re.match(
            r"(?P<heads>\d+) heads? of d_k = (?P<d_k>\d+): (?P<width>\d+) numbers per word, "
            r"d_model = 48\. (?P<parameters>[\d,]+) parameters, (?P<flops>[\d,]+) FLOPs, "
            r"(?P<bytes>[\d,]+) bytes of maps\. Untrained: ",
            self.panel.voice.sentence,
        )
        assert found, self.panel.voice.sentence
        return {name: int(text.replace(",", "")) for name, text in found.groupdict().items()}

    def labels(self) -> tuple[str, str]:
        return self.count_label.value, self.size_label.value


@pytest.fixture
def controls() -> Controls:
    return Controls(explore_heads(output_projection=True))


# The numbers


@pytest.mark.parametrize(("num_heads", "d_k"), [(1, 48), (8, 6), (3, 5), (16, 48)])
@pytest.mark.parametrize("output_projection", [False, True])
def test_costs_are_what_pytorch_counts(num_heads: int, d_k: int, output_projection: bool) -> None:
    setting = Setting(D_MODEL, num_heads, d_k, len(WORDS))
    x = torch.randn(1, setting.n, D_MODEL)
    weights = [torch.randn(D_MODEL, setting.width) for _ in range(3)]
    if output_projection:
        weights.append(torch.randn(setting.width, D_MODEL))
    layer: Any = multi_head_attention_with_output if output_projection else multi_head_attention
    with FlopCounterMode(display=False) as counter:
        layer(x, *weights, num_heads)
    counted = costs(setting, output_projection)
    assert counted.parameters == sum(w.numel() for w in weights)
    assert counted.flops == counter.get_total_flops()
    maps = Untrained().weights(num_heads, d_k)
    assert counted.map_bytes == maps.numel() * maps.element_size()


def test_at_fixed_d_model_the_same_queries_are_cut_differently() -> None:
    untrained = Untrained()
    q, k = untrained.q[0, :, :D_MODEL], untrained.k[0, :, :D_MODEL]  # (n, d_model)
    for num_heads in DIVISORS:
        d_k = D_MODEL // num_heads
        weights = untrained.weights(num_heads, d_k)
        assert weights.shape == (num_heads, len(WORDS), len(WORDS))
        for head in range(num_heads):
            part = slice(head * d_k, (head + 1) * d_k)
            _, expected = scaled_dot_product_attention(q[:, part], k[:, part], k[:, part])
            assert torch.allclose(weights[head], expected, atol=1e-6)


def test_the_weights_are_always_the_same_and_leave_torch_alone() -> None:
    state = torch.random.get_rng_state()
    assert torch.equal(Untrained().weights(4, 12), Untrained().weights(4, 12))
    assert torch.equal(torch.random.get_rng_state(), state)


# The picture


def test_it_starts_coupled(controls: Controls) -> None:
    assert controls.fixed.value == COUPLED
    assert controls.labels() == ("4", "12")
    assert controls.numbers() == {
        "heads": 4,
        "d_k": 12,
        "width": 48,
        "parameters": 9216,
        "flops": 8 * 12 * 48**2 + 4 * 12**2 * 48,
        "bytes": 4 * 12**2 * 4,
    }
    assert "only divisors of 48 can be chosen" in controls.reshape.value


def test_coupled_sliders_move_each_other(controls: Controls) -> None:
    seen = []
    for step in range(1, len(DIVISORS) + 1):
        controls.count.value = step
        seen.append(controls.labels())
        assert controls.canvas.values["weights"].shape == (DIVISORS[step - 1], 12, 12)
        assert controls.numbers()["width"] == D_MODEL
    assert seen == [(str(h), str(D_MODEL // h)) for h in DIVISORS]
    controls.size.value = controls.size.max  # d_k as large as can be
    assert controls.labels() == ("1", "48")
    assert controls.count.value == 1
    assert controls.panel.voice.error == ""


def test_free_sliders_move_alone(controls: Controls) -> None:
    controls.fixed.value = FREE
    assert controls.labels() == ("4", "12")  # what is set stays
    assert (controls.count.max, controls.size.max) == (MOST_HEADS, D_MODEL)
    assert "each slider moves alone" in controls.reshape.value
    controls.count.value = 5
    assert controls.labels() == ("5", "12")
    assert controls.numbers()["parameters"] == 4 * 48 * 60
    controls.size.value = 7
    assert controls.labels() == ("5", "7")
    assert controls.numbers()["bytes"] == 5 * 12**2 * 4

    controls.fixed.value = COUPLED  # 5 does not divide 48: the next smaller one does
    assert controls.labels() == ("4", "12")
    assert (controls.count.max, controls.size.max) == (len(DIVISORS), len(DIVISORS))
    assert controls.panel.voice.error == ""


def test_the_maps_and_their_marks_come_in_one_message(
    controls: Controls, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[set[str]] = []
    monkeypatch.setattr(
        Canvas, "send_state", lambda self, key=None: sent.append(set(key or ())), raising=True
    )
    controls.count.value = DIVISORS.index(8) + 1
    assert [keys for keys in sent if "data" in keys] == sent
    assert len(sent) == 1
    assert {"scene", "data", "layout_of_data"} <= sent[0]


def test_the_sentence_names_what_the_heads_look_at(controls: Controls) -> None:
    weights = Untrained().weights(4, 12)[:, WORDS.index("it")]
    best = weights.argmax(dim=-1)
    assert controls.panel.voice.sentence.endswith(
        f"all heads together look from “it” most at {len(best.unique())} words, "
        f"head 1 at “{WORDS[best[0]]}” with weight {weights[0].max():.2f}."
    )


def test_without_the_output_projection_three_matrices_are_counted() -> None:
    controls = Controls(explore_heads())
    assert controls.numbers()["parameters"] == 3 * 48**2
    assert "3 · d_model²" in controls.costs.value
    assert "Q, K, V, O" not in controls.costs.value


def test_blocks_carry_numbers_and_pictures_carry_words() -> None:
    for num_heads in (1, 8, 16):
        picture = reshape_picture(Setting(48, num_heads, 3, 12), coupled=False, marked=8)
        for head in range(1, num_heads + 1):
            assert picture.count(f">{head}</text>") == 2  # on both sides
        assert 'role="img" aria-label="Left, one sheet of 12 rows' in picture
    flat = cost_table(Setting(48, 8, 6, 12), True, DIVISORS, True)
    assert flat.count("all of one height") == 2
    assert "Memory of the maps: bars from 1 to 16 heads, rising 16-fold." in flat
    rising = cost_table(Setting(48, 8, 6, 12), False, range(1, 17), True)
    assert rising.count("rising 16-fold") == 3


def test_every_control_has_a_name_and_the_still_says_all(controls: Controls) -> None:
    names = [entry["name"] for entry in names_of(controls.panel.children)]
    assert names == ["Held fixed", "Number of heads, in steps", "d_k, in steps"]
    still = controls.panel._repr_mimebundle_()["text/html"]
    assert still.count("<svg") == 5  # the reshape, three rows of bars, the maps
    assert controls.panel.voice.sentence in still


def test_an_error_stands_in_the_panel(controls: Controls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads_module, "costs", lambda *_: 1 / 0)
    controls.count.value = 2
    assert controls.panel.voice.error == "ZeroDivisionError: division by zero"


# The budget of lesson 04


def test_the_dial_says_what_the_paper_reports() -> None:
    panel = explore_budget()
    controls, image = panel.children[:-1]
    dial, label = controls.children
    said, pixels = {}, set()
    for step, heads in enumerate(BLEU, start=1):
        dial.value = step
        assert label.value == str(heads)
        said[heads] = panel.voice.sentence
        pixels.add(bytes(image.value))
    assert len(pixels) == 5
    for heads, bleu in {1: 24.9, 4: 25.5, 8: 25.8, 16: 25.8, 32: 25.4}.items():
        assert f"of d_k = {512 // heads}: 1,048,576 parameters" in said[heads]
        assert f"BLEU {bleu}, " in said[heads]
    assert said[1].endswith("0.9 less.")
    assert said[16].endswith("the best of these.")
    assert panel.voice.error == ""
