"""The reference functions of lessons 02 to 05: laws that hold for every input."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F
from torch.testing import assert_close

from course.attention import functional as ours

sizes = st.integers(1, 6)
seeds = st.integers(0, 2**32 - 1)


def normal(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


@given(st.integers(1, 200), seeds)
@settings(max_examples=20)
def test_the_variance_of_a_dot_product_is_d_k(d_k: int, seed: int) -> None:
    found = ours.dot_product_variance(d_k, 20_000, torch.Generator().manual_seed(seed))
    assert found.shape == ()
    # The variance of the estimate is 2 d_k² / n for a normal sum, and 8 d_k² / n for d_k = 1.
    assert abs(float(found) / d_k - 1) < 6 * math.sqrt(8 / 20_000)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@given(sizes, sizes, sizes, sizes, seeds)
@settings(max_examples=30)
def test_scaled_attention_is_pytorchs(
    dtype: torch.dtype, n_q: int, n_k: int, d_k: int, d_v: int, seed: int
) -> None:
    q = normal(seed, 2, 3, n_q, d_k, dtype=dtype)
    k = normal(seed + 1, 2, 3, n_k, d_k, dtype=dtype)
    v = normal(seed + 2, 2, 3, n_k, d_v, dtype=dtype)
    output, weights = ours.scaled_dot_product_attention(q, k, v)
    assert output.dtype == weights.dtype == dtype
    near = 8 * torch.finfo(dtype).eps
    assert_close(output, F.scaled_dot_product_attention(q, k, v), atol=near, rtol=near)
    assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]), atol=near, rtol=near)


@given(sizes, sizes, seeds)
def test_the_jacobian_is_autograds(batch: int, n: int, seed: int) -> None:
    scores = normal(seed, batch, n)
    weights = torch.softmax(scores, -1)
    found = ours.softmax_jacobian(weights)
    for row in range(batch):
        expected = torch.autograd.functional.jacobian(
            lambda s: torch.softmax(s, -1), scores[row], vectorize=True
        )
        assert_close(found[row], expected)


@given(sizes, sizes, seeds)
def test_entropy_lies_between_one_key_and_all_alike(n_q: int, n_k: int, seed: int) -> None:
    weights = torch.softmax(3 * normal(seed, n_q, n_k), -1)
    entropy = ours.attention_entropy(weights)
    assert_close(entropy, torch.distributions.Categorical(weights).entropy())
    assert (entropy >= -1e-12).all() and (entropy <= math.log(n_k) + 1e-12).all()
    one_key = F.one_hot(torch.zeros(n_q, dtype=torch.long), n_k).double()
    assert_close(ours.attention_entropy(one_key), torch.zeros(n_q, dtype=torch.float64))


@given(sizes, sizes, sizes, sizes, seeds)
def test_heads_are_features_side_by_side(
    batch: int, n: int, num_heads: int, d_k: int, seed: int
) -> None:
    x = normal(seed, batch, n, num_heads * d_k)
    heads = ours.split_heads(x, num_heads)
    for head in range(num_heads):
        assert_close(heads[:, head], x[..., head * d_k : (head + 1) * d_k])
    assert_close(ours.concat_heads(heads), x)


@pytest.mark.parametrize(("d_model", "num_heads"), [(6, 4), (5, 2), (3, 0), (3, 7)])
def test_sizes_that_do_not_fit_are_both_named(d_model: int, num_heads: int) -> None:
    with pytest.raises(ValueError, match=f"{d_model} .*{num_heads} "):
        ours.split_heads(torch.zeros(2, 3, d_model), num_heads)
    with pytest.raises(ValueError, match=f"{d_model} .*{num_heads} "):
        ours.count_parameters(d_model, num_heads)


@given(sizes, sizes, sizes, sizes, sizes, seeds)
def test_a_loop_over_heads_is_one_packed_product(
    n: int, num_heads: int, d_model: int, d_k: int, d_v: int, seed: int
) -> None:
    x = normal(seed, 2, n, d_model)
    w_q, w_k = normal(seed + 1, 2, num_heads, d_model, d_k)
    w_v = normal(seed + 2, num_heads, d_model, d_v)
    q, k, v = (ours.pack_projections(w) for w in (w_q, w_k, w_v))
    for head in range(num_heads):
        assert_close(ours.split_heads(x @ q, num_heads)[:, head], x @ w_q[head])
    heads = ours.per_head_attention(x, w_q, w_k, w_v)
    together = ours.multi_head_attention(x, q, k, v, num_heads)
    assert_close(together, ours.concat_heads(heads))

    w_o = normal(seed + 3, num_heads * d_v, d_model)
    output = ours.multi_head_attention_with_output(x, q, k, v, w_o, num_heads)
    assert_close(output, ours.project_output(heads, w_o))
    assert_close(ours.head_contributions(heads, w_o).sum(1), output)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("num_heads", [1, 2, 8])
def test_parameters_are_those_of_pytorchs_module(num_heads: int, bias: bool) -> None:
    module = torch.nn.MultiheadAttention(64, num_heads, bias=bias)
    counted = sum(p.numel() for p in module.parameters())
    assert ours.count_parameters(64, num_heads, bias=bias) == counted
    assert ours.count_parameters(512, num_heads) == 4 * 512**2
    assert ours.count_parameters(8, 2, d_k=3) == 2 * 8 * 6 + 2 * 8 * 8
    assert ours.count_parameters(8, 2, d_v=3, bias=True) == 2 * 8 * 8 + 2 * 8 * 6 + 8 + 8 + 6 + 8


@given(sizes, st.integers(0, 5))
def test_the_last_query_sees_every_key(n_q: int, earlier: int) -> None:
    mask = ours.causal_mask(n_q, n_q + earlier)
    assert mask.dtype == torch.bool and mask[-1].all()
    assert mask.sum(-1).tolist() == [earlier + 1 + i for i in range(n_q)]
    if not earlier:
        assert_close(mask, ours.causal_mask(n_q))


def test_fewer_keys_than_queries_are_refused() -> None:
    with pytest.raises(ValueError, match=r"5 queries.* 3 keys"):
        ours.causal_mask(5, 3)


def test_padding_broadcasts_over_heads_and_queries() -> None:
    mask = ours.padding_mask(torch.tensor([0, 2, 3]), 3)
    assert mask.shape == (3, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[False] * 3, [True, True, False], [True] * 3]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@given(sizes, sizes, seeds)
@settings(max_examples=30)
def test_masked_keys_get_nothing_and_empty_rows_are_zero(
    dtype: torch.dtype, n_q: int, n_k: int, seed: int
) -> None:
    scores = (50 * normal(seed, 2, n_q, n_k)).to(dtype).requires_grad_()
    mask = normal(seed + 1, n_q, n_k) > 0
    weights = ours.masked_softmax(scores, mask)
    assert weights.dtype == dtype
    assert (weights.masked_select(~mask.expand_as(weights)) == 0).all()
    sums = weights.float().sum(-1)
    assert_close(sums, mask.any(-1).float().expand_as(sums), atol=2e-2, rtol=0)
    (weights * normal(seed + 2, *weights.shape).to(dtype)).sum().backward()
    assert scores.grad is not None and torch.isfinite(scores.grad).all()
    assert (scores.grad.masked_select(~mask.expand_as(weights)) == 0).all()


@given(sizes, sizes, seeds)
def test_masked_attention_is_pytorchs_where_something_may_be_seen(
    n_q: int, n_k: int, seed: int
) -> None:
    q, k, v = (normal(seed + i, 2, 3, n, 4) for i, n in enumerate((n_q, n_k, n_k)))
    mask = normal(seed + 3, 2, 1, n_q, n_k) > 0
    output, _ = ours.masked_attention(q, k, v, mask)
    seen = mask.any(-1).expand(2, 3, n_q)
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    assert_close(output[seen], expected[seen])
    assert (output[~seen] == 0).all()
    assert_close(ours.masked_attention(q, k, v)[0], F.scaled_dot_product_attention(q, k, v))
