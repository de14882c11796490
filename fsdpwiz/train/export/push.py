"""The verified model's way to the hub: once, from one process, after it stands in its place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi

from fsdpwiz.core.findings import Finding
from fsdpwiz.train.export.problems import not_pushed


def push(model: Path, training: Mapping[str, Any], *, name: str) -> tuple[str | None, Finding | None]:
    """Upload `model` as the method's `hub_` keys say; the commit's address, or the finding (P012).

    `name` names the repository where `hub_model_id` is absent. The token is `hub_token`, else the
    environment's; it stands in neither result.
    """
    token = training.get("hub_token")
    repository = training.get("hub_model_id") or name
    revision = training.get("hub_revision")
    try:
        api = HfApi(token=token)
        repository = api.create_repo(
            repository, private=training.get("hub_private_repo"), exist_ok=True
        ).repo_id
        if revision and revision != "main":
            api.create_branch(repository, branch=revision, exist_ok=True)
        commit = api.upload_folder(
            repo_id=repository,
            folder_path=model,
            revision=revision,
            commit_message="Model trained with fsdpwiz",
        )
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        if token:
            reason = reason.replace(str(token), "***")
        return None, not_pushed(str(repository), reason, model)
    return str(commit.commit_url), None
