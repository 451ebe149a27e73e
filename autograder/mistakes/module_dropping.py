"""Mistakes with the dropout of a module of multi-head attention."""

from typing import Any

import torch
from torch import Tensor, nn

from autograder.mistakes.module_steps import Steps, Told

dropout = nn.functional.dropout


def dropping(drop: Any) -> dict[str, Any]:
    """What is done to the weights: drop(self, weights)."""
    return {"drop": drop}


def dropped_before_return(self: Any, scores: Tensor, mask: Any) -> Tensor:
    return dropout(Steps.weigh(self, scores, mask), self.rate, self.training)


def dropped_scores(self: Any, scores: Tensor, mask: Any) -> Tensor:
    return Steps.weigh(self, dropout(scores, self.rate, self.training), mask)


def not_rescaled(self: Any, weights: Tensor) -> Tensor:
    if not self.training or not self.rate:
        return weights
    return weights * (torch.rand_like(weights) >= self.rate)


def renormalised(self: Any, weights: Tensor) -> Tensor:
    dropped = dropout(weights, self.rate, self.training)
    return dropped / dropped.sum(dim=-1, keepdim=True).clamp_min(1e-9)


def renormalised_bare(self: Any, weights: Tensor) -> Tensor:
    dropped = dropout(weights, self.rate, self.training)
    return dropped / dropped.sum(dim=-1, keepdim=True) if self.rate and self.training else dropped


def scaled_in_evaluation(self: Any, weights: Tensor) -> Tensor:
    if self.training:
        return not_rescaled(self, weights)
    return weights * (1 - self.rate)


def grown(self: Any, weights: Tensor) -> Tensor:
    return dropout(weights, self.rate, self.training) * (1 + self.rate)


def alpha(self: Any, weights: Tensor) -> Tensor:
    return nn.functional.alpha_dropout(weights, self.rate, self.training)


def feature_alpha(self: Any, weights: Tensor) -> Tensor:
    return nn.functional.feature_alpha_dropout(weights, self.rate, self.training)


def kept_by_chance_of_loss(self: Any, weights: Tensor) -> Tensor:
    if not self.training or not self.rate:
        return weights
    return weights * torch.bernoulli(torch.full_like(weights, self.rate)) / (1 - self.rate)


def same_each_time(self: Any, weights: Tensor) -> Tensor:
    if not self.training:
        return weights
    if getattr(self, "dropped", weights[:0]).shape != weights.shape:
        self.dropped = dropout(torch.ones_like(weights), self.rate, True)
    return weights * self.dropped


def reset(self: Any, weights: Tensor) -> Tensor:
    torch.manual_seed(0)
    return Steps.drop(self, weights)


def unless(what: str) -> dict[str, Any]:
    """Dropout in some calls only."""

    def defaults(self: Any, query: Tensor, key: Any, value: Any) -> Any:
        self.itself = key is None
        return Steps.defaults(self, query, key, value)

    def weigh(self: Any, scores: Tensor, mask: Any) -> Tensor:
        self.masked = mask is not None
        return Steps.weigh(self, scores, mask)

    def drop(self: Any, weights: Tensor) -> Tensor:
        return weights if getattr(self, what) else Steps.drop(self, weights)

    return {"defaults": defaults, "weigh": weigh, "drop": drop}


def whole_rows(self: Any, weights: Tensor) -> Tensor:
    return weights * dropout(torch.ones_like(weights[..., :1]), self.rate, self.training)


def kept_instead(self: Any, weights: Tensor) -> Tensor:
    return dropout(weights, 1 - self.rate, self.training) if self.rate else weights


def whole_heads(self: Any, weights: Tensor) -> Tensor:
    return nn.functional.dropout2d(weights, self.rate, self.training)


def one_mask_for_all(self: Any, weights: Tensor) -> Tensor:
    return weights * dropout(torch.ones_like(weights[:1]), self.rate, self.training)


def one_mask_for_heads(self: Any, weights: Tensor) -> Tensor:
    return weights * dropout(torch.ones_like(weights[:, :1]), self.rate, self.training)


def whole_keys(self: Any, weights: Tensor) -> Tensor:
    return weights * dropout(torch.ones_like(weights[:, :, :1]), self.rate, self.training)


def none(self: Any, weights: Tensor) -> Tensor:
    return weights


def tiny_rate(self: Any, weights: Tensor) -> Tensor:
    return dropout(weights, 0.1, self.training) if self.rate else weights


def by_default(self: Any, d_model: int, bias: bool) -> None:
    self.rate = self.rate or 0.1
    Steps.build(self, d_model, bias)


def on_leaving(self: Any, joined: Tensor) -> Any:
    return dropout(Steps.leave(self, joined), self.rate, self.training)


def on_joined(self: Any, joined: Tensor) -> Any:
    return Steps.leave(self, dropout(joined, self.rate, self.training))


def on_inputs(self: Any, *inputs: Tensor) -> Any:
    return Steps.project(self, *(dropout(x, self.rate, self.training) for x in inputs))


def on_values(self: Any, *inputs: Tensor) -> Any:
    q, k, v = Steps.project(self, *inputs)
    return q, k, dropout(v, self.rate, self.training)


DROPOUT: tuple[Told, ...] = (
    (
        "weights-after-dropout",
        "the weights that are returned went through dropout; those before it say what is attended.",
        "keep the result of the softmax for the return, and drop from a copy of it.",
        ({"weigh": dropped_before_return, "drop": none},),
    ),
    (
        "dropout-in-evaluation",
        "dropout goes on in evaluation, after .eval().",
        "use nn.Dropout, or pass training=self.training to nn.functional.dropout.",
        (
            dropping(lambda self, w: dropout(w, self.rate)),
            dropping(lambda self, w: nn.Dropout(self.rate)(w)),
            {"leave": lambda self, x: dropout(Steps.leave(self, x), self.rate), "drop": none},
        ),
    ),
    (
        "dropout-missing",
        "the module takes dropout and does nothing with it.",
        "send the weights through nn.functional.dropout(weights, self.dropout, self.training).",
        (dropping(none),),
    ),
    (
        "dropout-not-rescaled",
        "weights are dropped, and those that are kept are not made larger for it.",
        "divide by 1 − p, or use nn.functional.dropout, which does.",
        (dropping(not_rescaled),),
    ),
    (
        "scaled-in-evaluation",
        "weights are made smaller or larger in evaluation, where dropout changes nothing.",
        "divide by 1 − p in training, or use nn.Dropout, which does.",
        (dropping(scaled_in_evaluation), dropping(grown)),
    ),
    (
        "another-kind-of-dropout",
        "AlphaDropout puts other numbers than 0 in the place of what it drops.",
        "use nn.Dropout.",
        (dropping(alpha), dropping(feature_alpha)),
    ),
    (
        "dropped-alike-in-each-call",
        "the same weights are dropped in each call.",
        "draw anew in each call, as nn.Dropout does.",
        (dropping(same_each_time),),
    ),
    (
        "generator-reset",
        "torch.manual_seed stands inside the module: the same weights are dropped in each call.",
        "leave manual_seed to whoever uses the module.",
        (dropping(reset),),
    ),
    (
        "dropout-in-some-calls",
        "weights are dropped in some calls only: without a mask, or from one text to another.",
        "send the weights through dropout in every call.",
        (unless("itself"), unless("masked")),
    ),
    (
        "renormalised-after-dropout",
        "the weights are made to sum to 1 again after dropout.",
        "leave them as dropout makes them: larger by the factor 1/(1 − p), so that the mean stays.",
        (dropping(renormalised), dropping(renormalised_bare)),
    ),
    (
        "another-share-dropped",
        "another share than `dropout` is left out.",
        "pass the number on as it is: nn.Dropout(dropout).",
        (
            dropping(kept_instead),
            dropping(tiny_rate),
            dropping(kept_by_chance_of_loss),
            dropping(lambda self, w: dropout(w, 1 - self.rate, self.training)),
            dropping(lambda self, w: Steps.drop(self, Steps.drop(self, w))),
        ),
    ),
    (
        "dropout-by-default",
        "something is dropped although dropout is not given, and then it is 0.",
        "let the default be dropout=0.0.",
        ({"build": by_default},),
    ),
    (
        "dropped-together",
        "weights are dropped together: whole heads, whole keys, or the same ones for all.",
        "drop each weight by itself: nn.Dropout on the whole tensor of weights.",
        (
            dropping(whole_heads),
            dropping(one_mask_for_all),
            dropping(one_mask_for_heads),
            dropping(whole_keys),
            dropping(whole_rows),
        ),
    ),
    (
        "dropout-on-scores",
        "dropout acts on the scores, before the softmax: a score of 0 is no weight of 0.",
        "drop weights, after the softmax.",
        ({"weigh": dropped_scores, "drop": none},),
    ),
    (
        "dropout-elsewhere",
        "dropout acts on inputs, values, heads or output; here it acts on the weights.",
        "send the weights, and nothing else, through dropout.",
        (
            {"leave": on_leaving, "drop": none},
            {"leave": on_joined, "drop": none},
            {"project": on_values, "drop": none},
            {"project": on_inputs, "drop": none},
            {"leave": on_leaving},
            {"leave": on_joined},
        ),
    ),
)
