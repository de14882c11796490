"""All facts of the target of a recipe, each measured, declared or catalogued, or absent with a reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from fsdpwiz.core.secrets import HIDDEN, contains_secret, names_secret
from fsdpwiz.facts.data.read import read_data
from fsdpwiz.facts.declared import declared_gpus, declared_host
from fsdpwiz.facts.disk import read_disk
from fsdpwiz.facts.gpus import read_gpus
from fsdpwiz.facts.host import read_host
from fsdpwiz.facts.model.read import read_model
from fsdpwiz.facts.port import read_port
from fsdpwiz.facts.script import read_script
from fsdpwiz.facts.slurm import read_slurm
from fsdpwiz.facts.software import read_software
from fsdpwiz.facts.types import Data, Disk, Facts, Gpus, Host, Model, Port, Script, Software
from fsdpwiz.facts.unknown import UnknownFact
from fsdpwiz.facts.wanted import Wanted

Fact = TypeVar("Fact")
_ELSEWHERE = "with `launcher: slurm` the run is not on this machine"


def gather(wanted: Wanted, *, environ: Mapping[str, str], port: int | None = None) -> Facts:
    """Read what can be read of the target; never raises.

    With launcher local the target is this machine. With launcher slurm it is the cluster: nothing
    measured here of GPUs, memory, disk, versions or ports is given as a fact, only what the recipe
    declares and the catalogue knows. `port` None: no port is looked at.
    """
    absent: dict[str, str] = {}

    def known(name: str, read: Callable[[], Fact]) -> Fact | None:
        try:
            return read()
        except UnknownFact as reason:
            absent[name] = str(reason)
        except Exception as error:
            absent[name] = f"it could not be read: {type(error).__name__}: {error}"
        return None

    target = _Here(wanted, environ, port) if wanted.launcher == "local" else _Cluster(wanted)
    return Facts(
        gpus=known("gpus", target.gpus),
        host=known("host", target.host),
        declared_gpus=known("declared_gpus", lambda: declared_gpus(wanted.cluster)),
        declared_host=known("declared_host", lambda: declared_host(wanted.cluster)),
        disk=known("disk", target.disk),
        software=known("software", target.software),
        slurm=known("slurm", lambda: read_slurm(environ)),
        model=known("model", lambda: _model(wanted, environ)),
        data=known("data", lambda: _data(wanted)),
        eval_data=known("eval_data", lambda: _eval_data(wanted)),
        script=known("script", lambda: _script(wanted)),
        port=known("port", target.port),
        environment=_without_secrets(environ),
        absent=absent,
    )


class _Here:
    """This machine."""

    def __init__(self, wanted: Wanted, environ: Mapping[str, str], port: int | None) -> None:
        self._wanted, self._environ, self._port = wanted, environ, port

    def gpus(self) -> Gpus:
        return read_gpus(self._environ)

    def host(self) -> Host:
        return read_host()

    def disk(self) -> Disk:
        if self._wanted.output_dir is None:
            raise UnknownFact("no output folder is known")
        return read_disk(self._wanted.output_dir)

    def software(self) -> Software:
        return read_software()

    def port(self) -> Port:
        if self._port is None:
            raise UnknownFact("no port is asked for")
        return read_port(self._port)


class _Cluster:
    """The nodes that Slurm will choose."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted

    def gpus(self) -> Gpus:
        return declared_gpus(self._wanted.cluster)

    def host(self) -> Host:
        return declared_host(self._wanted.cluster)

    def disk(self) -> Disk:
        raise UnknownFact(_ELSEWHERE)

    def software(self) -> Software:
        raise UnknownFact(_ELSEWHERE)

    def port(self) -> Port:
        raise UnknownFact(_ELSEWHERE)


def _model(wanted: Wanted, environ: Mapping[str, str]) -> Model:
    if not wanted.model:
        raise UnknownFact("the recipe names no model")
    return read_model(
        wanted.model, revision=wanted.revision, base_folders=wanted.base_folders, environ=environ
    )


def _data(wanted: Wanted) -> Data:
    if not wanted.data:
        raise UnknownFact("the recipe names no data")
    return _read(wanted, wanted.data, wanted.data_split)


def _eval_data(wanted: Wanted) -> Data:
    """Data of its own, or another split of the training data."""
    if wanted.eval_data:
        return _read(wanted, wanted.eval_data, wanted.eval_split)
    if wanted.eval_split and wanted.data:
        return _read(wanted, wanted.data, wanted.eval_split)
    raise UnknownFact("the recipe names no evaluation data")


def _script(wanted: Wanted) -> Script:
    if not wanted.script:
        raise UnknownFact("the recipe names no script")
    return read_script(wanted.script, base_folders=wanted.base_folders)


def _read(wanted: Wanted, name: str, split: str | None) -> Data:
    return read_data(name, split=split, formats=wanted.data_formats, base_folders=wanted.base_folders)


def _without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    return {
        name: HIDDEN if names_secret(name) or contains_secret(value) else value
        for name, value in environ.items()
    }
