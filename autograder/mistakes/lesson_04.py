"""Mistakes of lesson 04: mixing the heads with W^O, what each writes, counting parameters."""

from autograder.mistakes.output_attention import MULTI_HEAD_ATTENTION_WITH_OUTPUT
from autograder.mistakes.output_contributions import HEAD_CONTRIBUTIONS
from autograder.mistakes.output_counting import COUNT_PARAMETERS
from autograder.mistakes.output_projection import PROJECT_OUTPUT

MISTAKES = {
    "project_output": PROJECT_OUTPUT,
    "head_contributions": HEAD_CONTRIBUTIONS,
    "count_parameters": COUNT_PARAMETERS,
    "multi_head_attention_with_output": MULTI_HEAD_ATTENTION_WITH_OUTPUT,
}
