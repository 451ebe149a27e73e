"""`MultiHeadAttention` beside PyTorch's own, with the same weights, on every device present."""

import copy
import itertools
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from course.attention.functional import causal_mask, padding_mask
from course.attention.module import MultiHeadAttention

D_MODEL, HEADS, BATCH = 12, 3, 2
DEVICES = ["cpu"]
DEVICES += ["cuda"] if torch.cuda.is_available() else []
DEVICES += ["mps"] if torch.backends.mps.is_available() else []

MASKS = {
    "none": lambda n_q, n_k: None,
    "causal": lambda n_q, n_k: causal_mask(n_q, n_k),
    "padding": lambda n_q, n_k: padding_mask(torch.tensor([n_k - 2, n_k]), n_k),
    "both": lambda n_q, n_k: (
        causal_mask(n_q, n_k) & padding_mask(torch.tensor([n_k - 2, n_k]), n_k)
    ),
    "per head": lambda n_q, n_k: torch.rand(HEADS, n_q, n_k) > 0.4,
    "keys alone": lambda n_q, n_k: torch.arange(n_k) != 1,
    "every head and text": lambda n_q, n_k: torch.rand(1, 1, n_q, n_k) > 0.3,
    "empty rows": lambda n_q, n_k: torch.arange(n_q)[:, None].expand(n_q, n_k) % 2 == 0,
}


def pair(dtype: torch.dtype, device: str, bias: bool) -> tuple[Any, Any]:
    torch.manual_seed(0)
    theirs: Any = nn.MultiheadAttention(D_MODEL, HEADS, bias=bias, batch_first=True)
    ours: Any = MultiHeadAttention(D_MODEL, HEADS, bias=bias)
    packed = theirs.in_proj_weight.detach().chunk(3)
    with torch.no_grad():
        for layer, weight in zip((ours.W_q, ours.W_k, ours.W_v), packed, strict=True):
            layer.weight.copy_(weight)
        ours.W_o.weight.copy_(theirs.out_proj.weight)
        if bias:
            theirs.in_proj_bias.normal_()
            for layer, b in zip(
                (ours.W_q, ours.W_k, ours.W_v), theirs.in_proj_bias.chunk(3), strict=True
            ):
                layer.bias.copy_(b)
            ours.W_o.bias.copy_(theirs.out_proj.bias)
    return ours.to(device, dtype), theirs.to(device, dtype)


def theirs_mask(mask: Tensor | None, n_q: int, n_k: int) -> Tensor | None:
    """The same mask as PyTorch's module wants it: True = may not, (batch · heads, n_q, n_k)."""
    if mask is None:
        return None
    return ~mask.expand(BATCH, HEADS, n_q, n_k).reshape(BATCH * HEADS, n_q, n_k)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("name", "cross", "dtype", "need_weights", "bias"),
    list(
        itertools.product(
            MASKS, (False, True), (torch.float64, torch.float32), (False, True), (False, True)
        )
    ),
)
def test_equal_to_pytorch(
    name: str, cross: bool, dtype: torch.dtype, need_weights: bool, bias: bool, device: str
) -> None:
    if device == "mps" and dtype == torch.float64:
        dtype = torch.float16
    ours, theirs = pair(dtype, device, bias)
    torch.manual_seed(1)
    n_q, n_k = 5, 7 if cross else 5
    query = torch.randn(BATCH, n_q, D_MODEL, dtype=dtype, device=device)
    memory = torch.randn(BATCH, n_k, D_MODEL, dtype=dtype, device=device) if cross else query
    mask = MASKS[name](n_q, n_k)
    mask = None if mask is None else mask.to(device)

    result = ours(query, memory if cross else None, mask=mask, need_weights=need_weights)
    output = result[0] if need_weights else result
    expected, expected_weights = theirs(
        query,
        memory,
        memory,
        attn_mask=theirs_mask(mask, n_q, n_k),
        need_weights=True,
        average_attn_weights=False,
    )
    full = torch.ones(BATCH, HEADS, n_q, n_k, dtype=torch.bool, device=device)
    seen = (full if mask is None else full & mask).any(-1)
    rows = seen.all(1)  # one empty head makes PyTorch's whole row NaN
    assert_close(output[rows], expected[rows])
    if need_weights:
        weights = result[1]
        assert_close(weights[seen], expected_weights[seen])
        assert (weights[~seen] == 0).all()

    output[rows].sin().sum().backward()
    expected[rows].sin().sum().backward()
    if rows.all():
        wanted = theirs.in_proj_weight.grad.chunk(3)
        layers = (ours.W_q, ours.W_k, ours.W_v)
        scale = float(theirs.in_proj_weight.grad.abs().max())
        for layer, grad in zip(layers, wanted, strict=True):
            near = 1e-5 * scale if dtype == torch.float32 else 1e-10 * scale
            assert_close(layer.weight.grad, grad, atol=near, rtol=1e-5)
    assert all(torch.isfinite(p.grad).all() for p in ours.parameters())


def test_empty_rows_give_the_bias_of_the_output_and_no_nan() -> None:
    module = MultiHeadAttention(8, 2)
    x = torch.randn(2, 4, 8, requires_grad=True)
    mask = torch.ones(4, 4, dtype=torch.bool)
    mask[1] = False
    for need_weights in (False, True):
        result = module(x, mask=mask, need_weights=need_weights)
        output = result[0] if need_weights else result
        assert_close(output[:, 1], module.W_o.bias.expand(2, 8))
        (grad,) = torch.autograd.grad(output.square().sum(), x)
        assert torch.isfinite(grad).all()


def test_both_ways_agree_and_nothing_is_changed() -> None:
    module = MultiHeadAttention(8, 2)
    x, mask = torch.randn(2, 4, 8), torch.rand(2, 1, 4, 4) > 0.3
    before = x.clone(), mask.clone()
    output, weights = module(x, mask=mask, need_weights=True)
    assert_close(output, module(x, mask=mask))
    assert weights.shape == (2, 2, 4, 4)
    assert_close((x, mask), before)


def test_dropout_acts_in_training_only_and_keeps_the_mean() -> None:
    torch.manual_seed(0)
    module = MultiHeadAttention(8, 2, dropout=0.3)
    x = torch.randn(1, 4, 8)
    plain, weights = module.eval()(x, need_weights=True)
    assert_close(module(x), plain)
    module.train()
    for need_weights in (False, True):
        runs = []
        for _ in range(1500):
            result = module(x, need_weights=need_weights)
            runs.append(result[0] if need_weights else result)
        samples = torch.stack(runs).detach()
        assert samples.std(0).min() > 0
        assert_close(samples.mean(0), plain.detach(), atol=0.04, rtol=0.04)
    assert_close(module(x, need_weights=True)[1], weights), "weights are those before dropout"


def test_any_float_dtype_and_device_without_a_change() -> None:
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        module = MultiHeadAttention(8, 2).to(dtype)
        output, weights = module(
            torch.randn(1, 4, 8, dtype=dtype), mask=causal_mask(4), need_weights=True
        )
        assert output.dtype == weights.dtype == dtype
        assert torch.isfinite(output).all()
    meta = MultiHeadAttention(8, 2).to("meta")
    assert meta(torch.empty(3, 4, 8, device="meta")).shape == (3, 4, 8)


def test_state_dict_round_trip_and_copies() -> None:
    module, other = MultiHeadAttention(8, 2), MultiHeadAttention(8, 2)
    assert set(module.state_dict()) == {
        f"W_{part}.{kind}" for part in "qkvo" for kind in ("weight", "bias")
    }
    other.load_state_dict(module.state_dict())
    x = torch.randn(1, 4, 8)
    assert_close(other(x), module(x))
    assert_close(copy.deepcopy(module)(x), module(x))


def test_it_compiles_without_a_break() -> None:
    module = MultiHeadAttention(8, 2)
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    x, mask = torch.randn(2, 4, 8), causal_mask(4)
    assert_close(compiled(x, mask=mask), module(x, mask=mask))


@pytest.mark.parametrize(("d_model", "num_heads"), [(6, 4), (8, 0)])
def test_sizes_that_do_not_fit_are_both_named(d_model: int, num_heads: int) -> None:
    with pytest.raises(ValueError, match=f"{d_model} .*{num_heads} "):
        MultiHeadAttention(d_model, num_heads)
