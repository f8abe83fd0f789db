"""``python -m ptxspec``."""

from ptxspec.cli import main

if __name__ == "__main__":
    main()
