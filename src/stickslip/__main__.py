"""The process of the command line: `stickslip` and `python -m stickslip`.

Ctrl-C while commands are still imported is one line and exit code 130, as it is later.  Once a command has ended, its
exit code stands: Ctrl-C while the interpreter closes down changes nothing.  What cannot be had is the time before
Python runs this file, some hundredths of a second: there Ctrl-C ends the process by the signal itself.
"""

import signal
import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line with the arguments of this process, and end it with the exit code of the command."""
    try:
        from stickslip.cli import main as command_line  # not at the top: this takes most of the start

        code = command_line()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("stickslip: interrupted", file=sys.stderr)
        code = INTERRUPTED
    sys.exit(code)


if __name__ == "__main__":
    main()
