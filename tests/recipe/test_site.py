"""The site file: where it is, what it may say, and that it is the weakest of the three."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsdpwiz.core.origin import Origin
from fsdpwiz.recipe import site as site_module
from fsdpwiz.recipe.load import read_recipe
from fsdpwiz.recipe.site import find_site
from fsdpwiz.recipe.site_file import check_site

ENOUGH = "model: {name_or_path: some/model}\ndata: {name_or_path: some/data}\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "site.yaml"
    path.write_text(
        "slurm:\n  options: {partition: gpu, account: a1}\nenv: {A: 1, B: 2}\n"
        "cluster: {gpu: A100-80GB, nodes: 4}\noutput_dir: /scratch/runs\n"
    )
    return path


def test_command_line_over_recipe_over_site(site: Path) -> None:
    text = ENOUGH + "cluster: {nodes: 2}\nenv: {B: 3}\nslurm: {options: {partition: big}}\n"
    recipe = read_recipe(text, ["cluster.nodes=1", "env.A=null"], path=Path("r.yaml"), site=site)
    assert recipe.problems == ()
    assert recipe.value("cluster") == {"gpu": "A100-80GB", "nodes": 1}
    assert recipe.value("env") == {"B": "3"}
    assert recipe.value("slurm.options") == {"partition": "big", "account": "a1"}
    assert recipe.value("output_dir") == "/scratch/runs"
    assert recipe.settings.output_dir == "/scratch/runs"
    sources = {key: origin.source for key, origin in recipe.origins.items()}
    assert sources["cluster.gpu"] == "site"
    assert sources["cluster.nodes"] == "override"
    assert sources["cluster"] == "recipe"
    assert sources["env.B"] == "recipe"
    assert recipe.origins["output_dir"] == Origin(source="site", file=str(site), line=5)


def test_null_of_the_recipe_wins_over_the_site(site: Path) -> None:
    recipe = read_recipe(ENOUGH + "cluster: null\n", site=site)
    assert recipe.has("cluster")
    assert recipe.settings.cluster is None
    assert not recipe.has("cluster.gpu")


@pytest.mark.parametrize(
    ("text", "code", "key", "line"),
    [
        ("sft: {max_steps: 5}\n", "S001", "sft", 1),
        ("env: {A: 1}\nclusters: {nodes: 5}\n", "S001", "clusters", 2),
        ("cluster: {nodes: many}\n", "S002", "cluster.nodes", 1),
        ("slurm: {options: {nodes: 2}}\n", "S004", "slurm.options.nodes", 1),
        ("env: [A\n", "S021", None, 2),
        ("- env\n", "S021", None, 1),
    ],
)
def test_fault_of_the_site_file_is_among_the_problems(
    tmp_path: Path, text: str, code: str, key: str | None, line: int
) -> None:
    path = tmp_path / "site.yaml"
    path.write_text(text)
    (problem,) = read_recipe(ENOUGH, site=path).problems
    assert (problem.code, problem.key, problem.file, problem.line) == (code, key, str(path), line)


def test_named_site_file_that_is_missing_is_a_fault(tmp_path: Path) -> None:
    (problem,) = read_recipe(ENOUGH, site=tmp_path / "absent.yaml").problems
    assert problem.code == "S021"
    assert problem.detail["reason"]


def test_empty_site_file_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "site.yaml"
    path.write_text("# nothing yet\n")
    assert read_recipe(ENOUGH, site=path).problems == ()


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = tmp_path / "etc.yaml"
    monkeypatch.setattr(site_module, "SYSTEM_SITE", system)
    assert find_site({}, tmp_path) is None
    system.touch()
    assert find_site({}, tmp_path) == system
    own = tmp_path / ".config" / "fsdpwiz" / "site.yaml"
    own.parent.mkdir(parents=True)
    own.touch()
    assert find_site({}, tmp_path) == own
    assert find_site({"FSDPWIZ_SITE": "/nowhere.yaml"}, tmp_path) == Path("/nowhere.yaml")
    assert find_site({"FSDPWIZ_SITE": ""}, tmp_path) == own


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_reported(content: bytes) -> None:
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        check_site(Path(file.name))
