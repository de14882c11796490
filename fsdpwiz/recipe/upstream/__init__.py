"""The legal keys of the sections that speak an upstream library's own names, as data per version."""

from fsdpwiz.recipe.upstream.table import METHOD, SECTIONS, Table, UpstreamField, fields, table, versions

__all__ = ["METHOD", "SECTIONS", "Table", "UpstreamField", "fields", "table", "versions"]
