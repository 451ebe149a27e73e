"""What multi-head self-attention costs: parameters, FLOPs and the memory of its weight maps."""

from dataclasses import dataclass

from course.attention.functional import count_parameters

BYTES = 4  # of a float32


@dataclass(frozen=True)
class Setting:
    """One sentence of n words with d_model numbers each, and num_heads heads of size d_k."""

    d_model: int
    num_heads: int
    d_k: int
    n: int

    @property
    def width(self) -> int:
        """The numbers that all heads together have for a word."""
        return self.num_heads * self.d_k


@dataclass(frozen=True)
class Costs:
    """Of one layer and one sentence; a multiply-add is two FLOPs, a map holds float32."""

    parameters: int
    flops: int
    map_bytes: int


def costs(setting: Setting, output_projection: bool) -> Costs:
    """Count the projections Q, K, V (and O, if there is one), the products, and the maps."""
    d_model, n, width = setting.d_model, setting.n, setting.width
    parameters = count_parameters(d_model, setting.num_heads, setting.d_k, setting.d_k)
    if not output_projection:
        parameters -= width * d_model
    projections = 2 * n * parameters
    products = 2 * 2 * n * n * width  # q @ kᵀ and weights @ v
    maps = setting.num_heads * n * n
    return Costs(parameters, projections + products, BYTES * maps)
