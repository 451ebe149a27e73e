"""The command line as a module: `python -m autograder`."""

from autograder.cli import main

if __name__ == "__main__":
    main()
