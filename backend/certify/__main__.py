"""``python -m ptxspec.backend.certify``."""

import sys

from .command import main

sys.exit(main())
