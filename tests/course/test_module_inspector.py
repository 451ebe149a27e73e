import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from course import devices
from course.attention.functional import count_parameters
from course.attention.module import MultiHeadAttention, MultiHeadSelfAttention
from course.devices import available_devices, milliseconds, wait_for
from course.explorers import module_inspector
from course.explorers.accessibility import names_of
from course.explorers.module_inspector import SIZES, inspect_module
from course.explorers.module_run import SENTENCE, Run, Step, axes_of, run_module
from course.explorers.panel import Panel

WORDS = len(SENTENCE)


class Controls:
    """The controls of a panel, as a learner finds them."""

    def __init__(self, panel: Panel) -> None:
        controls, self.canvas, self.tables = panel.children[:-1]
        *sizes, self.device = controls.children
        if sizes:
            self.heads, self.doublings, self.size = sizes
        self.panel = panel

    @property
    def said(self) -> str:
        return self.panel.voice.sentence

    @property
    def error(self) -> str:
        return self.panel.voice.error

    def rows(self, table: int) -> list[list[str]]:
        """The cells of a table without their HTML: 0 the steps, 1 the parameters."""
        markup = self.tables.children[table].value
        return [
            [re.sub("<[^>]+>", "", cell) for cell in re.findall("<td.*?</td>", line)]
            for line in re.findall("<tr>.*?</tr>", markup)[1:]
        ]


def ran(given: Any, d_model: int = 16, num_heads: int = 2) -> Run:
    run = Run(num_heads=num_heads, d_model=d_model)
    run_module(given, d_model, num_heads, "cpu", run)
    return run


# The numbers


def test_the_run_is_that_of_the_module() -> None:
    run = ran(MultiHeadAttention)
    torch.manual_seed(0)
    module = MultiHeadAttention(16, 2)
    x = torch.randn(1, WORDS, 16, generator=torch.Generator().manual_seed(0))
    output, weights = module(x, need_weights=True)
    output.square().mean().backward()
    assert run.weights is not None
    assert torch.allclose(run.weights, weights[0])
    assert run.num_parameters == count_parameters(16, 2, bias=True)
    for (name, shape, norm), (wanted, parameter) in zip(
        run.parameters, module.named_parameters(), strict=True
    ):
        assert (name, shape) == (wanted, tuple(parameter.shape))
        assert parameter.grad is not None
        assert norm == pytest.approx(parameter.grad.norm().item(), rel=1e-3, abs=1e-7)
    assert run.milliseconds > 0


def test_steps_are_watched_and_their_axes_named() -> None:
    run = ran(MultiHeadAttention)
    steps = [(step.name, step.shape, axes_of(step, run)) for step in run.steps]
    assert steps[:3] == [
        ("W_q", (1, 12, 16), "batch, position, d_model"),
        ("reshape", (1, 12, 2, 8), "batch, position, heads, d_k"),
        ("transpose", (1, 2, 12, 8), "batch, heads, position, d_k"),
    ]
    assert ("softmax", (1, 2, 12, 12), "batch, heads, query, key") in steps
    assert steps[-1] == ("W_o", (1, 12, 16), "batch, position, d_model")


@pytest.mark.parametrize(
    ("step", "num_heads", "d_model", "axes"),
    [
        (Step("matmul", (1, 2, 12, 12)), 2, 24, ""),  # d_k is 12, too
        (Step("matmul", (1, 12, 12)), 3, 12, ""),
        (Step("W_q", (1, 12, 12), projects=True), 3, 12, "batch, position, d_model"),
        (Step("W_q", (1, 12, 8), projects=True), 1, 8, "batch, position, d_model"),
        (Step("stack", (3, 3)), 2, 16, ""),
    ],
)
def test_axes_that_could_be_read_in_two_ways_have_no_name(
    step: Step, num_heads: int, d_model: int, axes: str
) -> None:
    assert axes_of(step, Run(num_heads, d_model)) == axes


def test_the_sizes_on_the_slider_can_be_told_apart() -> None:
    assert WORDS not in SIZES


def test_torchs_own_generator_and_the_given_module_stay_as_they_are() -> None:
    module = MultiHeadAttention(24, 3)
    module.train()
    state = torch.random.get_rng_state()
    run = ran(module)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert module.training
    assert all(parameter.grad is None for parameter in module.parameters())
    assert (run.num_heads, run.d_model) == (3, 24)


# The picture


@pytest.fixture
def controls() -> Controls:
    return Controls(inspect_module())


def test_the_sentence_states_the_numbers(controls: Controls) -> None:
    found = re.fullmatch(
        r"2 heads of d_k = 8, d_model = 16: 1,088 parameters\. A forward pass takes about [\d.e-]+ "
        r"ms on the (CPU|GPU).*?\. The maps take 2 · 12 · 12 · 4 = 1,152 bytes, and would take "
        r"8 MB for 1,000 words\. In head 1 “it” gives its largest weight, (?P<weight>[\d.]+), to "
        r"“(?P<word>\w+)”; an even share is 0\.08, and all weights lie between [\d.]+ and "
        r"(?P<largest>[\d.]+)\.",
        controls.said,
    )
    assert found, controls.said
    row = controls.canvas.values["weights"][0, SENTENCE.index("it")]
    assert float(found["weight"]) == pytest.approx(row.max(), abs=0.006)
    largest = controls.canvas.values["weights"].max()
    assert float(found["largest"]) == pytest.approx(largest, abs=0.006)
    assert found["word"] == SENTENCE[row.argmax()]
    if available_devices() == ["cpu"]:
        assert "on the CPU, the only device here." in controls.said


def test_everything_follows_the_sliders(controls: Controls) -> None:
    assert controls.canvas.values["weights"].shape == (2, WORDS, WORDS)
    controls.heads.value = 5
    controls.doublings.value = 4
    assert controls.size.value == "16"
    assert controls.canvas.values["weights"].shape == (5, WORDS, WORDS)
    assert controls.canvas.values["weights"].sum(axis=-1) == pytest.approx(1, abs=1e-5)
    assert "5 heads of d_k = 16, d_model = 80: 25,920 parameters." in controls.said
    assert controls.rows(1)[0][:2] == ["W_q.weight", "(80, 80)"]
    assert controls.error == ""


def test_the_bias_of_the_keys_has_no_gradient_and_all_others_do(controls: Controls) -> None:
    for doublings in range(len(SIZES)):
        controls.doublings.value = doublings
        gradients = {name: text for name, _, text in controls.rows(1)}
        assert gradients.pop("W_k.bias").startswith("0"), controls.said
        if doublings:
            assert not any(text.startswith("0 (") for text in gradients.values())


def test_every_control_has_a_name_and_the_still_shows_all(controls: Controls) -> None:
    names = [entry["name"] for entry in names_of(controls.panel.children)]
    assert names == ["Heads", "d_k: how often 1 is doubled", "Device"]
    still = controls.panel._repr_mimebundle_()["text/html"]
    assert still.count("<svg") == 1
    assert still.count("<table") == 2
    assert controls.said in still


# A learner's module


class Loop(nn.Module):
    """Heads in a list that registers, one after the other; no weights are returned."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        heads = [nn.Linear(d_model, d_model // num_heads) for _ in range(num_heads)]
        self.heads = nn.ModuleList(heads)
        self.W_o = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.W_o(torch.cat([head(x) for head in self.heads], dim=-1))


def test_a_module_without_weights_shows_what_there_is() -> None:
    shown = Controls(inspect_module(Loop))
    assert "gives no weights, so there are no maps" in shown.said
    assert shown.canvas.panes == ()
    assert [row[0] for row in shown.rows(0)] == ["heads.0", "heads.1", "cat", "W_o"]
    assert shown.error == ""


def test_the_smallest_module_has_its_maps_computed() -> None:
    shown = Controls(inspect_module(MultiHeadSelfAttention))
    assert "the maps are computed from its W_q and W_k" in shown.said
    reference = Controls(inspect_module())
    assert shown.canvas.values["weights"] == pytest.approx(reference.canvas.values["weights"])


def test_what_is_not_registered_is_not_among_the_parameters() -> None:
    class Listed(Loop):
        def __init__(self, d_model: int, num_heads: int) -> None:
            super().__init__(d_model, num_heads)
            kept = list(self.heads)
            del self.heads
            self.heads = kept  # type: ignore[assignment]

    shown = Controls(inspect_module(Listed))
    assert [row[0] for row in shown.rows(1)] == ["W_o.weight", "W_o.bias"]


def test_many_steps_are_cut_and_counted() -> None:
    class Long(Loop):
        def forward(self, x: Tensor) -> Tensor:
            for _ in range(40):
                x = x + 1
            return super().forward(x)

    shown = Controls(inspect_module(Long))
    assert len(shown.rows(0)) == module_inspector.MOST_ROWS + 1
    assert shown.rows(0)[-1][0] == "… and 20 more"


def test_a_module_that_is_made_keeps_its_sizes() -> None:
    shown = Controls(inspect_module(MultiHeadAttention(24, 4)))
    assert shown.said.startswith("4 heads of d_k = 6, d_model = 24:")
    assert not hasattr(shown, "heads")


class Stops(Loop):
    """Stops with three heads."""

    def forward(self, x: Tensor) -> Tensor:
        if len(self.heads) == 3:
            return self.heads[0](x) @ x
        return super().forward(x)


def test_an_error_is_shown_with_the_steps_before_it_and_the_next_value_recovers() -> None:
    shown = Controls(inspect_module(Stops))
    before = shown.said
    shown.heads.value = 3
    assert shown.said.startswith("3 heads, d_model = 24: your module stopped after 1 step.")
    assert shown.error.startswith("RuntimeError: ")
    assert [row[0] for row in shown.rows(0)] == ["heads.0"]
    assert {row[2] for row in shown.rows(1)} == {"none"}
    shown.heads.value = 2
    assert shown.error == ""
    assert shown.said.partition("forward pass")[0] == before.partition("forward pass")[0]


def unfinished(d_model: int, num_heads: int) -> nn.Module:
    raise NotImplementedError("not written yet")


class NoPair(MultiHeadAttention):
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return super().forward(args[0])


class Averages(MultiHeadAttention):
    def forward(self, x: Tensor, need_weights: bool = False) -> Any:  # type: ignore[override]
        output, weights = super().forward(x, need_weights=True)
        return (output, weights.mean(dim=1)) if need_weights else output


class Shrinks(Loop):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x)[:, :3]


class Detaches(Loop):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).detach()


class Infinite(Loop):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) / 0


class Silent(Loop):
    def forward(self, x: Tensor) -> Any:
        super().forward(x)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (unfinished, "NotImplementedError: not written yet"),
        (lambda d_model, num_heads: 3, "made int, and a module is needed"),
        (lambda: 3, "TypeError: "),
        (NoPair, "returned Tensor, and two things are needed"),
        (Averages, "Your weights has the shape (1, 12, 12), and (1, 2, 12, 12) is needed"),
        (Shrinks, "Your output has the shape (1, 3, 16), and (1, 12, 16) is needed"),
        (Detaches, "does not hang on any parameter"),
        (Infinite, "NaN or infinity"),
        (Silent, "Your output is NoneType"),
        (nn.ReLU(), "no nn.Linear among its modules"),
    ],
)
def test_what_is_wrong_with_a_module_stands_in_the_panel(given: Any, said: str) -> None:
    shown = Controls(inspect_module(given))
    assert said in shown.error
    assert "The error stands below." in shown.said
    assert shown.canvas.panes == ()


def test_a_module_that_keeps_a_computed_tensor_is_told_what_to_pass() -> None:
    class Keeps(Loop):
        def forward(self, x: Tensor) -> Tensor:
            self.last = super().forward(x)
            return self.last

    module = Keeps(16, 2)
    module(torch.randn(1, 3, 16))
    assert "Pass the class itself, inspect_module(Keeps)" in Controls(inspect_module(module)).error
    assert Controls(inspect_module(Keeps)).error == ""


def test_something_else_than_a_module_is_refused() -> None:
    with pytest.raises(ValueError, match="Pass your class"):
        inspect_module(3)  # type: ignore[arg-type]


# Devices


def test_the_cpu_is_always_there_and_a_gpu_that_fails_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert available_devices()[-1] == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(devices, "_works", lambda device: False)
    assert available_devices() == ["cpu"]
    monkeypatch.setattr(devices, "_works", lambda device: True)
    assert available_devices() == ["cuda", "cpu"]


def test_a_device_that_fails_does_not_work() -> None:
    assert devices._works("cpu")
    if not torch.cuda.is_available():
        with pytest.raises((AssertionError, RuntimeError)):
            torch.ones(1, device="cuda")


def test_times_are_medians_of_no_more_runs_than_wanted() -> None:
    runs: list[int] = []
    assert milliseconds(lambda: runs.append(1), repetitions=5) >= 0
    assert len(runs) == 5
    milliseconds(lambda: runs.append(1), repetitions=5, at_most=1e-9)
    assert len(runs) == 6
    wait_for("cpu")


@pytest.mark.parametrize("device", available_devices())
def test_the_picker_runs_on_every_device(device: str) -> None:
    shown = Controls(inspect_module())
    shown.device.value = device
    assert shown.error == ""
    assert [name for _, name in shown.device.options] == available_devices()
