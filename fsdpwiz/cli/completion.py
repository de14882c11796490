"""What the shell may complete: recipe names, override keys, codes of findings."""

from __future__ import annotations


def recipes(incomplete: str) -> list[str]:
    """Names of shipped recipes; the shell itself completes paths."""
    from fsdpwiz.recipe.library import shipped

    return [recipe.name for recipe in shipped() if recipe.name.startswith(incomplete)]


def overrides(incomplete: str) -> list[str]:
    """Dotted recipe keys that begin with `incomplete`, with the `=` behind them."""
    from fsdpwiz.recipe.schema.keys import dotted_keys

    return [f"{key}=" for key in dotted_keys() if key.startswith(incomplete)]


def codes(incomplete: str) -> list[str]:
    """Codes of findings that begin with `incomplete`."""
    from fsdpwiz.rules.catalogue import modules

    return [code for code in modules() if code.startswith(incomplete.upper())]
