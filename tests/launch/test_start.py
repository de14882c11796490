"""What a launch judges of the recipe's paths before it starts anything."""

import pytest

from fsdpwiz.launch.start import judge
from fsdpwiz.recipe.load import read_recipe
from tests.launch.runs import RECIPE, plan_of

KEY = "sft.resume_from_checkpoint"


def judged(path, given):
    override = f"{KEY}={given}"
    return judge(read_recipe(RECIPE, [override], path=path), plan_of(override), None)


@pytest.mark.parametrize("absolute", [True, False])
def test_a_checkpoint_to_start_from_is_found_beside_the_recipe(tmp_path, absolute, monkeypatch):
    monkeypatch.chdir("/")
    folder = tmp_path / "runs" / "step-4"
    folder.mkdir(parents=True)
    plan, findings = judged(tmp_path / "recipe.yaml", folder if absolute else "runs/step-4")
    assert findings == ()
    assert plan.training["resume_from_checkpoint"] == str(folder)


def test_a_checkpoint_that_is_not_there_is_refused(tmp_path):
    _, (finding,) = judged(tmp_path / "recipe.yaml", "runs/gone")
    assert (finding.code, finding.severity, finding.key) == ("I036", "error", KEY)
    assert "`runs/gone`: there is no such folder" in finding.message


def test_nothing_to_start_from(tmp_path):
    plan = plan_of()
    assert judge(read_recipe(RECIPE, path=tmp_path / "recipe.yaml"), plan, None) == (plan, ())
