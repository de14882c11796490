"""Whether the rows of a data set are all wrong in the same way."""

from __future__ import annotations

from fsdpwiz.facts.types import Data, DataFault

_SHAPE = "the row has "


def fault_of_all_rows(data: Data) -> DataFault | None:
    """The first fault where no row has a known shape and all have the same other columns, else None."""
    alike = len({fault.message for fault in data.faults}) == 1
    if data.format is None and alike and data.faults[0].message.startswith(_SHAPE):
        return data.faults[0]
    return None
