"""Where the site file is: defaults that an administrator or a user sets once for all recipes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

SITE_VARIABLE = "FSDPWIZ_SITE"
SYSTEM_SITE = Path("/etc/fsdpwiz/site.yaml")
SITE_SECTIONS = ("slurm", "env", "cluster", "output_dir")


def find_site(environ: Mapping[str, str], home: Path) -> Path | None:
    """What `$FSDPWIZ_SITE` names (there or not), else the user's site file, else the system's, else None."""
    named = environ.get(SITE_VARIABLE)
    if named:
        return Path(named)
    candidates = (home / ".config" / "fsdpwiz" / "site.yaml", SYSTEM_SITE)
    return next((path for path in candidates if _is_file(path)), None)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False
