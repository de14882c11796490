"""`python -m fsdpwiz` is `fsdpwiz`."""

import sys

from fsdpwiz.cli.main import main

sys.exit(main())
