"""A console that says nothing: it waits for ever, or, told anything in place of a brief, ends at once.

python -m tests.children.silent_console FOLDER BRIEF
"""

import signal
import sys

if __name__ == "__main__" and not sys.argv[2]:
    signal.pause()
