"""Lesson 06, your own multi-head attention: modules, and the way to PyTorch's own."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from autograder.declaring import Case, Exercise, Observation
from autograder.exercises import purposes
from autograder.exercises.attention_modules import module_cases, self_cases
from autograder.exercises.dropout import conclude_dropout
from autograder.exercises.mask_observing import kind_of_entries
from autograder.exercises.module_observing import probe_module
from autograder.exercises.torch_inputs import ATTENTION_OF_PYTORCH, tensor
from autograder.module_probing import PROJECTIONS, fill, list_parameters, projections_of, words
from autograder.observing import returns
from autograder.recording import changed, record

TITLE = "Your own multi-head attention in PyTorch"

FORWARD = "forward(query, key=None, value=None, mask=None, need_weights=False)"
PROJECTION = ("number of the output", "number of the input")
GRADIENTS = {
    "gradient of query": ("query", "feature"),
    "gradient of key": ("key", "feature"),
    "gradient of value": ("key", "feature"),
    **{f"gradient of {each}.weight": PROJECTION for each in PROJECTIONS},
    **{f"gradient of {each}.bias": ("number of the output",) for each in PROJECTIONS},
}


REFUSED: tuple[dict[str, Any], ...] = ({"kdim": 6}, {"vdim": 2}, {"add_bias_kv": True})


class FourProjections(nn.Module):
    """What copy_from_torch receives as `mine`: the four projections, and nothing else."""

    def __init__(self, d_model: int, bias: bool) -> None:
        super().__init__()
        for name in PROJECTIONS:
            self.add_module(name, nn.Linear(d_model, d_model, bias=bias))


def copy_cases(rng: np.random.Generator) -> Sequence[Case]:
    def case(name: str, purpose: str, mine: int, theirs: int | None = None, **more: Any) -> Case:
        sizes = {"d_model of mine": mine, "embed_dim of theirs": theirs or mine, "num_heads": 2}
        return Case(name, purpose, {**sizes, "seed": int(rng.integers(2**31)), **more})

    refused = "cannot be copied, because"
    return (
        case("small", "copies a small module, with biases.", 2),
        case("larger", "copies a module of another size.", 6),
        case(
            "without biases",
            "has no biases on either side. What is refused changes nothing in another module.",
            4,
            bias=False,
            refused=1,
        ),
        case("float64", "has float64 on both sides.", 4, dtype="float64"),
        case(
            "used before",
            "copies twice into the same module; the last one counts. What is refused changes "
            "nothing in another module.",
            4,
            twice=1,
            refused=1,
        ),
        case("smaller", f"{refused} theirs is smaller than mine.", 4, 2),
        case("too large", f"{refused} theirs is larger than mine.", 2, 6),
        case("three times as small", f"{refused} mine is three times as large.", 6, 2),
        case("biases in mine only", f"{refused} theirs has no biases.", 4, theirs_bias=False),
        case(
            "biases in theirs only",
            f"{refused} mine has no biases.",
            4,
            bias=False,
            theirs_bias=True,
        ),
        case("keys of another size", f"{refused} theirs has keys of another size.", 4, kdim=6),
        case("values of another size", f"{refused} theirs has values of another size.", 4, vdim=2),
        case(
            "learned extra keys",
            f"{refused} theirs has bias_k and bias_v.",
            4,
            add_bias_kv=True,
        ),
    )


def probe_copy(implementation: Callable[..., Any], case: Case) -> Observation:
    """Builds both modules from the case, copies, and looks at what became of them."""
    wanted = case.arguments
    dtype = getattr(torch, wanted.get("dtype", "float32"))
    mine = FourProjections(wanted["d_model of mine"], wanted.get("bias", True)).to(dtype)
    theirs = _theirs(wanted, wanted["seed"], dtype)
    fill(mine, wanted["seed"] + 1)
    parameters = dict(mine.named_parameters())
    if wanted.get("twice"):
        implementation(mine, _theirs(wanted, wanted["seed"] + 3, dtype))
    before = {"theirs": _flat(theirs)}
    returned = implementation(mine, theirs)
    after = {"theirs": _flat(theirs)}
    listed = list_parameters(mine)
    values = {"parameters": listed}
    copied = projections_of(mine)
    values.update({name: record(parameter) for name, parameter in copied.items()})
    same = all(copied.get(name) is parameter for name, parameter in parameters.items())
    values["parameters of mine"] = words(
        "the same nn.Parameter objects as before" if same else "new nn.Parameter objects"
    )
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(1)
    shared = any(record(p).data.tobytes() != values[n].data.tobytes() for n, p in copied.items())
    values["theirs"] = words(", ".join(_unlike_before(theirs)) or "as it was before")
    values["memory"] = words("shared with theirs" if shared else "its own")
    if wanted.get("refused"):
        values["modules after a refusal"] = words(_after_refusals(implementation, wanted))
    values["returned value"] = record(returned)
    return Observation(values=values, changed=changed(before, after))


def _after_refusals(implementation: Callable[..., Any], wanted: Mapping[str, Any]) -> str:
    """What a refusal leaves changed, in words. That something is refused is for other cases."""
    bias, size = wanted.get("bias", True), wanted["embed_dim of theirs"]
    for more in ({"theirs_bias": not bias}, *REFUSED, {"embed_dim of theirs": 2 * size}):
        mine = FourProjections(wanted["d_model of mine"], bias)
        theirs = _theirs({**wanted, **more}, wanted["seed"], torch.float32)
        fill(mine, wanted["seed"] + 1)
        before = {"mine": _flat(mine), "theirs": _flat(theirs)}
        try:
            implementation(mine, theirs)
        except (ValueError, AssertionError):
            now = {"mine": _flat(mine), "theirs": _flat(theirs)}
            written = [name for name in before if not torch.equal(before[name], now[name])]
            if written:
                return f"{' and '.join(written)} was written to before ValueError was raised"
        except Exception:  # no refusal
            continue
    return "as they were before"


def _theirs(wanted: Mapping[str, Any], seed: int, dtype: torch.dtype) -> nn.MultiheadAttention:
    options = {name: wanted[name] for name in ("kdim", "vdim", "add_bias_kv") if name in wanted}
    bias = wanted.get("theirs_bias", wanted.get("bias", True))
    size = wanted["embed_dim of theirs"]
    theirs = nn.MultiheadAttention(size, wanted["num_heads"], bias=bias, **options).to(dtype)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in theirs.parameters():
            numbers = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_((10 * numbers).round() / 10)
    return theirs


def _unlike_before(theirs: nn.Module) -> list[str]:
    """What copying changed in theirs beside its numbers, in words."""
    frozen = [name for name, each in theirs.named_parameters() if not each.requires_grad]
    found = [f"{name} does not require gradients" for name in frozen]
    return found + ["in evaluation mode"] * (not theirs.training)


def _flat(module: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()])


def mask_cases(rng: np.random.Generator) -> Sequence[Case]:
    def case(name: str, purpose: str, mask: np.ndarray) -> Case:
        return Case(name, purpose, {"mask": tensor(mask)})

    def drawn(*shape: int) -> np.ndarray:
        mask = rng.random(shape) < 0.6
        mask.flat[0], mask.flat[-1] = True, False
        return mask

    every = np.ones((3, 4), dtype=bool)
    first_hidden = np.flip(drawn(6, 3)).copy()

    nothing = drawn(4, 5)
    nothing[1] = False
    return (
        case("two queries, three keys", "is small enough to be read.", drawn(2, 3)),
        case("a square", "has as many queries as keys.", drawn(5, 5)),
        case("causal", "is the causal mask of four words.", np.tri(4, dtype=bool)),
        case("more queries than keys", "has more queries than keys.", first_hidden),
        case("more keys than queries", "has many more keys than queries.", drawn(12, 70)),
        case("nothing to see", "has a query that may attend to nothing.", nothing),
        case("nothing hidden", "has a mask that is True everywhere.", every),
        case("one query", purposes.ONE_QUERY, drawn(1, 9)),
        case("not contiguous", purposes.PERMUTED, drawn(5, 4).T),
    )


def declare(name: str, **more: Any) -> Exercise:
    """An exercise of this lesson: what all four have in common is said here once."""
    return Exercise(name=name, lesson=6, mistakes=f"autograder.mistakes.lesson_06:{name}", **more)


EXERCISES = (
    declare(
        "MultiHeadSelfAttention",
        title="The smallest module: multi-head self-attention",
        points=3,
        signature="MultiHeadSelfAttention(d_model, num_heads)",
        methods=("forward(x)",),
        recipe=True,
        returns=("output",),
        axes={"output": ("word", "feature"), **GRADIENTS, "gradient of x": ("word", "feature")},
        cases=self_cases,
        probe=probe_module,
        reference="course.attention.module.MultiHeadSelfAttention",
        not_allowed=ATTENTION_OF_PYTORCH,
        hints=(
            "Two jobs: `__init__` makes what the module keeps, `forward` computes with it. What is "
            "to be learned here, and how large is each of it?",
            "In `__init__`: first `super().__init__()`, then four `nn.Linear(d_model, d_model)`, "
            "kept as self.W_q, self.W_k, self.W_v and self.W_o. Keep num_heads too, and refuse one "
            "that does not divide d_model.",
            "In `forward`: project x three times, `split_heads` each, attend with "
            "`scaled_dot_product_attention`, `concat_heads`, and send the result through W_o.",
        ),
    ),
    declare(
        "MultiHeadAttention",
        title="Multi-head attention, complete",
        points=6,
        signature="MultiHeadAttention(d_model, num_heads, dropout=0.0, bias=True)",
        methods=(FORWARD,),
        recipe=True,
        returns=("output", "weights"),
        axes={"output": ("query", "feature"), "weights": ("head", "query", "key"), **GRADIENTS},
        cases=module_cases,
        probe=probe_module,
        conclude=conclude_dropout,
        reference="course.attention.module.MultiHeadAttention",
        not_allowed=ATTENTION_OF_PYTORCH,
        hints=(
            "Start from MultiHeadSelfAttention and let one thing in at a time: first key and value "
            "with their defaults, then the mask, then need_weights, dropout last.",
            "Queries come from W_q(query), keys from W_k(key), values from W_v(value). Their "
            "lengths may differ; `split_heads` takes each as it is. If key is None it is query, "
            "and then, if value is None, it is key.",
            "`masked_softmax(scores, mask)` gives the weights, also for queries that may attend to "
            "nothing. The scores are (batch, heads, n_q, n_k), and the mask broadcasts to them as "
            "it is.",
            "Dropout acts on a copy of the weights, and knows the mode: "
            "`nn.functional.dropout(weights, self.dropout, self.training) @ v`. What is returned "
            "with need_weights=True are the weights before that.",
        ),
    ),
    declare(
        "copy_from_torch",
        title="Copy the weights of PyTorch's module",
        points=2,
        signature="copy_from_torch(mine, theirs)",
        recipe=True,
        returns=("returned value",),
        axes={f"{each}.weight": PROJECTION for each in PROJECTIONS},
        cases=copy_cases,
        probe=probe_copy,
        reference="course.attention.torch_equivalents.copy_from_torch",
        hints=(
            "PyTorch keeps the three projections of query, key and value in one weight, "
            "`theirs.in_proj_weight` of shape (3 · d_model, d_model), in this order, and their "
            "biases in `theirs.in_proj_bias`. W_o is `theirs.out_proj`.",
            "`theirs.in_proj_weight.chunk(3)` gives the three weights. `.copy_(…)` copies numbers "
            "into a parameter that is there already; inside `with torch.no_grad():`, because the "
            "copying is nothing to learn through.",
            "Look before you copy. Without in_proj_weight, theirs has kdim or vdim; bias_k is None "
            "in a module that can be copied; in_proj_bias is None exactly if mine.W_q.bias is; and "
            "the shapes have to agree. Otherwise raise ValueError.",
        ),
    ),
    declare(
        "to_torch_mask",
        title="Turn the mask round",
        points=1,
        signature="to_torch_mask(mask)",
        returns=("mask",),
        axes={"mask": ("query", "key")},
        cases=mask_cases,
        probe=returns("mask"),
        conclude=kind_of_entries,
        reference="course.attention.torch_equivalents.to_torch_mask",
        not_allowed=ATTENTION_OF_PYTORCH,
        hints=(
            "In ours True means that a query may attend. What does True mean in PyTorch's module?",
            "Every True becomes False and the other way round; `~` does that to a tensor of bools, "
            "and makes a new one.",
        ),
    ),
)
