"""Settings in nbgrader_config.py: a section that nobody reads is a slip of the pen."""

import pytest

from autograder.grading.settings import UnusableSettings, read_settings


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("c.Jugde.partial_credit = True", "c.Jugde, which nobody reads. Is it c.Judge?"),
        ("c.Judges.memory = 1.0", "c.Judges, which nobody reads. Is it c.Judge?"),
        ("c.JUDGE.memory = 1.0", "c.JUDGE, which nobody reads. Is it c.Judge?"),
        (
            "c.AssignLatePenalty.plugin_class = 'late.Plugin'",
            "Is it c.AssignLatePenalties?",
        ),
        (
            "c.LateSubmissionsPlugin.penalty_method = 'zero'",
            "Is it c.LateSubmissionPlugin?",
        ),
    ],
)
def test_a_section_that_is_misspelt_is_refused(new_school, line, said):
    with new_school.project.config.open("a") as config:
        config.write(f"\n{line}\n")
    with pytest.raises(UnusableSettings) as refused:
        read_settings(new_school.project)
    assert str(refused.value).startswith("nbgrader_config.py sets c.")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "line",
    [
        "c.Judge.partial_credit = True",
        "c.Autograde.create_student = True",
        "c.Exchange.root = '/srv/exchange'",
        "c.FormgradeApp.log_level = 10",
        "c.LateSubmissionPlugin.penalty_method = 'zero'",
        "c.BasePlugin.log_level = 10",
    ],
)
def test_sections_of_nbgrader_are_left_alone(new_school, line):
    with new_school.project.config.open("a") as config:
        config.write(f"\n{line}\n")
    read_settings(new_school.project)
