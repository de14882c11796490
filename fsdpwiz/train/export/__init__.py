"""The end of a run: a verified folder that `AutoModelForCausalLM.from_pretrained` loads, or a finding."""
