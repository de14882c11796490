"""The site file's settings: the sections that an administrator may give defaults for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import create_model

from fsdpwiz.core.errors import ProblemError
from fsdpwiz.core.problem import Problem
from fsdpwiz.recipe.check import Checked, check_source
from fsdpwiz.recipe.schema.part import Part
from fsdpwiz.recipe.schema.settings import Settings
from fsdpwiz.recipe.site import SITE_SECTIONS
from fsdpwiz.recipe.source_text import read_text
from fsdpwiz.recipe.yaml_tree import MappingNode, NotYaml, ScalarNode, TooLarge, read_yaml

_FIELDS: dict[str, Any] = {
    name: (Settings.model_fields[name].annotation, Settings.model_fields[name]) for name in SITE_SECTIONS
}
SiteSettings: type[Part] = create_model("SiteSettings", __base__=Part, **_FIELDS)


def check_site(path: Path) -> Checked:
    """The settings of a site file. Where it cannot be used at all it is a problem S021 and gives nothing."""
    try:
        root = read_yaml(read_text(path))
    except ProblemError as error:
        reason = (
            error.problem.detail.get("reason") or f"it is larger than {error.problem.detail.get('limit')}"
        )
        return _unusable(path, str(reason), error.problem.line)
    except NotYaml as error:
        return _unusable(path, error.reason, error.line)
    except TooLarge as error:
        return _unusable(path, f"it has more than {error.limit}", error.line)
    if isinstance(root, ScalarNode) and root.value is None:
        return Checked(file=str(path), source="site")
    if not isinstance(root, MappingNode):
        return _unusable(path, "it is not a mapping of sections", root.line)
    return check_source(root, SiteSettings, file=str(path), source="site")


def _unusable(path: Path, reason: str, line: int | None) -> Checked:
    problem = Problem(code="S021", file=str(path), line=line, detail={"reason": reason, "path": str(path)})
    return Checked(file=str(path), source="site", problems=[problem])
