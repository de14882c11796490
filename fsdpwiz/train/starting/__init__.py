"""A training that starts from a checkpoint of another layout: FSDP1's, a whole file's, a plain folder's.

Upstream reads such a checkpoint only with the FSDP version and state-dict type that wrote it. Here names and
shapes decide: each rank of an FSDP2 run copies its own part of every tensor out of the files.
"""

from fsdpwiz.train.starting.begin import convert_model, convert_optimizer, converts, start_folder, train

__all__ = ["convert_model", "convert_optimizer", "converts", "start_folder", "train"]
