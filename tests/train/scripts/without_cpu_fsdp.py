"""Our trainer as it would be if nobody had taught Accelerate about FSDP on CPU."""

import sys

from fsdpwiz.train import __main__, cpu_fsdp

cpu_fsdp.enable = lambda **_: None
cpu_fsdp.training_arguments = lambda: {"use_cpu": False}
__main__.main(sys.argv[1:])
