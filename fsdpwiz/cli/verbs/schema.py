"""Print the JSON Schema of recipes, for editors."""

from __future__ import annotations

import json

from fsdpwiz.cli.output import out
from fsdpwiz.recipe.schema.json_schema import recipe_schema


def command() -> None:
    """Print the JSON Schema of recipes on stdout.

    Save it and name it in a recipe's first line, `# yaml-language-server: $schema=FILE`.
    """
    schema = recipe_schema()
    if out.json:
        return out.document(schema)
    return out.data(json.dumps(schema, indent=2, ensure_ascii=False))
