"""Our MultiHeadAttention beside PyTorch's ways to do the same job: ratios of time, in one run.

The same job is self-attention from (batch, n, d_model) to the same shape with four projections,
by `nn.MultiheadAttention` without weights, and by bare `F.scaled_dot_product_attention` between
`F.linear`s. Ways alternate, and medians are compared. Above 1.15 is a defect.
"""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course.attention.functional import causal_mask
from course.attention.module import MultiHeadAttention

SIZES = ((16, 64, 128, 4), (8, 128, 256, 8), (2, 512, 512, 8), (1, 1024, 512, 8))
ROUNDS = 15
DEFECT = 1.15

Step = Callable[[], Any]


def bare(packed: Tensor, out: Tensor, heads: int) -> Callable[[Tensor, bool], Tensor]:
    """The job from PyTorch's parts: one packed projection, fused attention, one projection."""

    def attend(x: Tensor, causal: bool) -> Tensor:
        batch, n, d_model = x.shape
        q, k, v = (
            t.view(batch, n, heads, -1).transpose(1, 2) for t in F.linear(x, packed).chunk(3, -1)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return F.linear(mixed.transpose(1, 2).reshape(batch, n, d_model), out)

    return attend


def ways(
    batch: int, n: int, d_model: int, heads: int, device: str, causal: bool, backward: bool
) -> dict[str, Step]:
    """The three ways, each as a step that can be timed."""
    x = torch.randn(batch, n, d_model, device=device, requires_grad=backward)
    ours = MultiHeadAttention(d_model, heads, bias=False).to(device)
    theirs = nn.MultiheadAttention(d_model, heads, bias=False, batch_first=True).to(device)
    packed = nn.Parameter(torch.randn(3 * d_model, d_model, device=device) / d_model**0.5)
    out = nn.Parameter(torch.randn(d_model, d_model, device=device) / d_model**0.5)
    parts = bare(packed, out, heads)
    mask = causal_mask(n).to(device) if causal else None
    # Without a gradient both modules are used as for inference, where PyTorch's has a fast path.
    ours.train(backward)
    theirs.train(backward)
    not_mask = None if mask is None else ~mask
    calls: dict[str, Callable[[], Tensor]] = {
        "ours": lambda: ours(x, mask=mask),
        "nn.MultiheadAttention": lambda: theirs(
            x, x, x, attn_mask=not_mask, need_weights=False, is_causal=causal
        )[0],
        "bare SDPA": lambda: parts(x, causal),
    }

    def step(call: Callable[[], Tensor]) -> Step:
        def run() -> None:
            if backward:
                call().sum().backward()
            else:
                with torch.inference_mode():
                    call()
            if device == "cuda":
                torch.cuda.synchronize()

        return run

    return {name: step(call) for name, call in calls.items()}


def milliseconds(steps: dict[str, Step]) -> dict[str, float]:
    """Median time of each step; rounds alternate between them."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(ROUNDS + 3):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            if number >= 3:  # the first rounds warm up
                times[name].append(1000 * (time.perf_counter() - start))
    return {name: median(series) for name, series in times.items()}


def main() -> None:
    """Print a line per size, mask and direction, for every device present."""
    torch.manual_seed(0)
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    head = f"{'batch, n, d_model, heads':26}{'mask':8}{'':12}{'ours ms':>9}{'nn.MHA':>9}{'bare':>9}"
    for device in devices:
        print(f"On {device}\n{head}{'ratio':>8}")
        for size in SIZES:
            for causal in (False, True):
                for backward in (False, True):
                    found = milliseconds(ways(*size, device, causal, backward))
                    ours, module, parts = found.values()
                    ratio = ours / min(module, parts)
                    print(
                        f"{size!s:26}{'causal' if causal else 'none':8}"
                        f"{'and backward' if backward else 'forward':12}"
                        f"{ours:9.2f}{module:9.2f}{parts:9.2f}{ratio:8.2f}"
                        f"{'  a defect' if ratio > DEFECT else ''}"
                    )


if __name__ == "__main__":
    main()
