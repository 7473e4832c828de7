"""The command line as ``python -m dmrank``."""

from dmrank.cli import main

if __name__ == "__main__":
    main()
