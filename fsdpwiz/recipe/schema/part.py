"""What all sections of a recipe have in common: strict types, no unknown keys, frozen once read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict
from pydantic_core import PydanticCustomError

RESERVED = "reserved_name"


class Part(BaseModel):
    """A mapping of the recipe. Every key may be absent; `model_fields_set` tells which are given."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        protected_namespaces=(),
    )


@dataclass(frozen=True, slots=True)
class AsText:
    """Marks values that are taken as the text they are written as: `8`, `1e-5` and `true` unquoted too.

    For what ends up in an environment or on a command line, where everything is text. Without
    `any_scalar` the values of a mapping must be text by themselves.
    """

    key_pattern: str | None = None
    key_words: str = ""
    unset_by_null: bool = True
    any_scalar: bool = True


def one_of(*choices: Any) -> Any:
    """The annotation of a value that must be one of `choices`, of the same type (1 is not true)."""
    return Annotated[Literal[choices], BeforeValidator(_exactly(choices))]


def other_than(name: str, meaning: str) -> AfterValidator:
    """The mark of text that may be anything but `name`, which means something else already."""

    def check(value: str | None) -> str | None:
        if value == name:
            raise PydanticCustomError(RESERVED, "a reserved name", {"meaning": meaning})
        return value

    return AfterValidator(check)


def _exactly(choices: tuple[Any, ...]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not any(type(value) is type(choice) and value == choice for choice in choices):
            raise PydanticCustomError("literal_error", "not one of the choices")
        return value

    return check
