"""The rank processes of the export's tests, for those of the save."""

from tests.train.export.conftest import pool

__all__ = ["pool"]
