"""A site file that cannot be used

## What

The site file (`$FSDPWIZ_SITE`, else `~/.config/fsdpwiz/site.yaml`, else `/etc/fsdpwiz/site.yaml`) is
missing though `$FSDPWIZ_SITE` names it, is not YAML, or has a section other than `slurm`, `env`, `cluster`
and `output_dir`.

## Why

Its defaults would silently be missing from every run of this site.

## Example

    FSDPWIZ_SITE=/etc/fsdpwiz/sites.yaml fsdpwiz validate smollm2-135m-sft

## How to fix

Mend the file that the message names, or unset `FSDPWIZ_SITE`.

## When to ignore

Never: a run without the site's defaults may go to the wrong partition or disk.

## References

`fsdpwiz render RECIPE --effective` shows which values come from the site file.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "bad-site-file"
SEVERITY = "error"
EXIT = 2


def word(problem: Problem) -> Found:
    reason = problem.detail.get("reason") or "it cannot be read"
    file = problem.detail.get("path") or problem.file
    return Found(message=f"The site file{f' `{file}`' if file else ''} cannot be used: {reason}")
