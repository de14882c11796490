"""One file per verb; the file's first line is the verb's help."""
