"""The one file a person edits: schema, loading, overrides, shipped recipes."""
