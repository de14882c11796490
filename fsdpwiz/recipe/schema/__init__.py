"""The recipe's keys: pydantic models, strict at every depth, and the JSON Schema and page made from them."""
