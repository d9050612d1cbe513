"""`python -m stickslip`: the command line without an installed script."""

import sys

from stickslip.cli import main

if __name__ == "__main__":
    sys.exit(main())
