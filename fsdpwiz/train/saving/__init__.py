"""Checkpoints in torch's distributed format, written from the live shards while training goes on.

What is trained does not change between a save and the optimizer's next step. So a thread writes the shards
themselves, and only what it has not reached when the optimizer is about to step is copied, or waited for.
"""

from fsdpwiz.train.saving.saver import Saver

__all__ = ["Saver"]
