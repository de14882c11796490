"""Streaming load: each rank reads from the safetensors files only the rows it will hold."""
