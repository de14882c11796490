"""The bundled trainer: the only code that imports torch, accelerate, transformers, trl, peft."""
