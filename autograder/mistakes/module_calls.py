"""Mistakes with the arguments and results of a module of multi-head attention."""

from typing import Any

from torch import Tensor, nn

from autograder.mistakes.module_steps import Steps, Told


def from_query(self: Any, query: Tensor, key: Any, value: Any) -> Any:
    return query, query


def values_from_query(self: Any, query: Tensor, key: Any, value: Any) -> Any:
    return (query if key is None else key), query


def keys_from_query(self: Any, query: Tensor, key: Any, value: Any) -> Any:
    key = query if key is None else key
    return query, key if value is None else value


def value_ignored(self: Any, query: Tensor, key: Any, value: Any) -> Any:
    key = query if key is None else key
    return key, key


def value_from_query(self: Any, query: Tensor, key: Any, value: Any) -> Any:
    return (query if key is None else key), (query if value is None else value)


def both_or_none(self: Any, query: Tensor, key: Any, value: Any) -> Any:
    return (query, query) if key is None else (key, key if value is None else value)


def no_defaults(self: Any, query: Tensor, key: Any, value: Any) -> Any:
    return key, value


def key_from_value(self: Any, query: Tensor, key: Any, value: Any) -> Any:
    key = key if key is not None else (value if value is not None else query)
    return key, key if value is None else value


def query_length(self: Any, heads: Tensor) -> Tensor:
    return heads.transpose(1, 2).reshape(heads.shape[0], self.length, -1)


def split_as_query(self: Any, x: Tensor) -> Tensor:
    if getattr(self, "turn", 0) % 3 == 0:
        self.length = x.shape[1]
    self.turn = getattr(self, "turn", 0) + 1
    return x.reshape(x.shape[0], self.length, self.num_heads, self.d_k).transpose(1, 2)


def split_by_key(self: Any, x: Tensor) -> Tensor:
    self.turn = getattr(self, "turn", 0) + 1
    if self.turn % 3 == 2:
        self.length = x.shape[1]
    return Steps.split(self, x)


def query_length_and_size(self: Any, heads: Tensor) -> Tensor:
    return heads.transpose(1, 2).reshape(heads.shape[0], self.length, self.d_model)


def keys_by_query(self: Any, x: Tensor) -> Tensor:
    """Query, key and value in turn; the key's rows are counted with the query's length."""
    self.turn = getattr(self, "turn", 0) + 1
    if self.turn % 3 == 1:
        self.length = x.shape[1]
    if self.turn % 3 != 2:
        return Steps.split(self, x)
    return x.reshape(x.shape[0], self.length, self.num_heads, -1).transpose(1, 2)


def both_by_query(self: Any, x: Tensor) -> Tensor:
    self.turn = getattr(self, "turn", 0) + 1
    if self.turn % 3 == 1:
        self.length = x.shape[1]
    return x.reshape(x.shape[0], self.length, self.num_heads, -1).transpose(1, 2)


def key_or_query(self: Any, query: Tensor, key: Any, value: Any) -> Any:
    key = key or query
    return key, key if value is None else value


def value_or_key(self: Any, query: Tensor, key: Any, value: Any) -> Any:
    key = query if key is None else key
    return key, value or key


def if_mask(self: Any, scores: Tensor, mask: Any) -> Tensor:
    return Steps.weigh(self, scores, mask if mask else None)


def keys_kept(self: Any, query: Tensor, key: Any, value: Any) -> Any:
    if key is not None:
        self.key = key
    key = getattr(self, "key", query) if key is None else key
    return key, key if value is None else value


def mask_kept(self: Any, scores: Tensor, mask: Any) -> Tensor:
    self.mask = getattr(self, "mask", None) if mask is None else mask
    return Steps.weigh(self, scores, self.mask)


def answering(answer: Any) -> dict[str, Any]:
    """What is returned: answer(self, output, weights, need_weights)."""
    return {"answer": answer}


def returning(change: Any) -> dict[str, Any]:
    """The weights that are returned, changed."""

    def answer(self: Any, output: Tensor, weights: Tensor, need_weights: bool) -> Any:
        return (output, change(weights)) if need_weights else output

    return {"answer": answer}


def raw_kept(self: Any, scores: Tensor, mask: Any) -> Tensor:
    self.raw = scores
    return Steps.weigh(self, scores, mask)


def raw_hidden(self: Any, scores: Tensor, mask: Any) -> Tensor:
    self.raw = scores if mask is None else scores.masked_fill(~mask, float("-inf"))
    return Steps.weigh(self, scores, mask)


def raw_answer(self: Any, output: Tensor, weights: Tensor, need_weights: bool) -> Any:
    return (output, self.raw) if need_weights else output


def none(self: Any, weights: Tensor) -> Tensor:
    return weights


def bias_always(self: Any, d_model: int, bias: bool) -> None:
    Steps.build(self, d_model, True)


def bias_never(self: Any, d_model: int, bias: bool) -> None:
    Steps.build(self, d_model, False)


def bias_in_three(self: Any, d_model: int, bias: bool) -> None:
    Steps.build(self, d_model, bias)
    self.W_o = nn.Linear(d_model, d_model)


def bias_in_one(self: Any, d_model: int, bias: bool) -> None:
    Steps.build(self, d_model, False)
    self.W_o = nn.Linear(d_model, d_model, bias=bias)


CALLS: tuple[Told, ...] = (
    (
        "key-and-value-from-query",
        "keys and values are made from the query's input, also when others are given.",
        "use W_k(key) and W_v(value).",
        ({"defaults": from_query},),
    ),
    (
        "value-from-query",
        "the values are made from the query's input; in cross-attention they come from the key's.",
        "if value is None, it is key.",
        ({"defaults": values_from_query}, {"defaults": value_from_query}),
    ),
    (
        "key-from-query",
        "the keys are made from the query's input, also when a key is given.",
        "use W_k(key).",
        ({"defaults": keys_from_query},),
    ),
    (
        "value-ignored",
        "a value that is given is not used.",
        "value = key only if value is None.",
        ({"defaults": value_ignored}, {"defaults": both_or_none}),
    ),
    (
        "key-from-value",
        "without a key, the value's input is used for the keys.",
        "if key is None, it is query.",
        ({"defaults": key_from_value},),
    ),
    (
        "defaults-missing",
        "key or value is None, and is used as if it were a tensor.",
        "begin with: if key is None it is query, and if value is None it is key.",
        ({"defaults": no_defaults},),
    ),
    (
        "length-of-the-query",
        "keys and values are split with the query's length; theirs may be another.",
        "read the length off each of them: k.shape[1].",
        ({"split": split_as_query}, {"split": keys_by_query}, {"split": both_by_query}),
    ),
    (
        "truth-of-a-tensor",
        "`or` and `if` ask a whole tensor whether it is true, and it has many numbers.",
        "ask whether there is one: `if key is None`, `if mask is not None`.",
        ({"defaults": key_or_query}, {"defaults": value_or_key}, {"weigh": if_mask}),
    ),
    (
        "kept-between-calls",
        "a key, value or mask of an earlier call is used again.",
        "keep nothing of a call: without a key it is query, and without a mask nothing is hidden.",
        ({"defaults": keys_kept}, {"weigh": mask_kept}),
    ),
    (
        "length-of-the-key",
        "the output is shaped with the number of keys; it has one row for each query.",
        "use the query's length.",
        (
            {"split": split_by_key, "concat": query_length},
            {"split": split_by_key, "concat": query_length_and_size},
        ),
    ),
    (
        "weights-always-returned",
        "output and weights are returned, also when need_weights is False.",
        "return the output alone unless need_weights is True.",
        (
            answering(lambda self, output, w, need: (output, w)),
            answering(
                lambda self, output, w, need: (
                    (output, w) if need or (self.training and self.rate) else output
                )
            ),
        ),
    ),
    (
        "weights-never-returned",
        "the weights are not returned when need_weights is True.",
        "then return both: output, weights.",
        (answering(lambda self, output, w, need: output),),
    ),
    (
        "none-for-weights",
        "without need_weights a pair is returned, as nn.MultiheadAttention does.",
        "return the output alone unless need_weights is True.",
        (answering(lambda self, output, w, need: (output, w if need else None)),),
    ),
    (
        "need-weights-inverted",
        "need_weights is read the other way round.",
        "return output, weights if need_weights is True.",
        (answering(lambda self, output, w, need: output if need else (output, w)),),
    ),
    (
        "results-swapped",
        "weights and output are returned in the wrong order.",
        "return output, weights.",
        (answering(lambda self, output, w, need: (w, output) if need else output),),
    ),
    (
        "weights-averaged",
        "the weights are averaged over the heads, as nn.MultiheadAttention does.",
        "return those of each head: (batch, heads, n_q, n_k).",
        (
            returning(lambda w: w.mean(dim=1)),
            returning(lambda w: w.mean(dim=1, keepdim=True).expand_as(w)),
            returning(lambda w: w.sum(dim=1)),
        ),
    ),
    (
        "weights-of-one-head",
        "the weights of one head are returned.",
        "return those of all heads: (batch, heads, n_q, n_k).",
        (returning(lambda w: w[:, 0]), returning(lambda w: w[:, -1])),
    ),
    (
        "weights-rearranged",
        "the axes of the weights are in another order than (batch, heads, query, key).",
        "return them as the softmax made them.",
        (
            returning(lambda w: w.transpose(-2, -1)),
            returning(lambda w: w.transpose(1, 2)),
            returning(lambda w: w.flatten(0, 1)),
            returning(lambda w: w.permute(1, 0, 2, 3)),
        ),
    ),
    (
        "scores-returned",
        "the scores are returned in the place of the weights.",
        "return what the softmax made of them.",
        ({"weigh": raw_kept, "answer": raw_answer}, {"weigh": raw_hidden, "answer": raw_answer}),
    ),
    (
        "bias-ignored",
        "the projections have biases, or have none, whatever `bias` says.",
        "pass it on to all four: nn.Linear(d_model, d_model, bias=bias).",
        (
            {"build": bias_always},
            {"build": bias_never},
            {"build": bias_in_three},
            {"build": bias_in_one},
        ),
    ),
)


def layers_without_bias(*names: str) -> dict[str, Any]:
    def build(self: Any, d_model: int, bias: bool) -> None:
        Steps.build(self, d_model, bias)
        for name in names:
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))

    return {"build": build}


def dropping(rate: float) -> dict[str, Any]:
    return {"drop": lambda self, weights: nn.functional.dropout(weights, rate)}


# Of the smallest module alone, which is given neither `bias` nor `need_weights`, nor `dropout`.
SMALLEST: tuple[Told, ...] = (
    (
        "dropout-unasked",
        "weights are dropped, and nobody asked for dropout, so that no two calls agree.",
        "leave dropout out; it comes with MultiHeadAttention.",
        (dropping(0.1), dropping(0.2), dropping(0.5)),
    ),
    (
        "built-without-bias",
        "projections are made with bias=False; here all four have a bias.",
        "drop bias=False: nn.Linear(d_model, d_model).",
        (
            layers_without_bias("W_q", "W_k", "W_v", "W_o"),
            layers_without_bias("W_q", "W_k", "W_v"),
            layers_without_bias("W_q"),
            layers_without_bias("W_k"),
            layers_without_bias("W_v"),
            layers_without_bias("W_o"),
        ),
    ),
    (
        "weights-returned-too",
        "output and weights are returned.",
        "return the output alone.",
        (answering(lambda self, output, w, need: (output, w)),),
    ),
)
