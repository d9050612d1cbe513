"""The process of the command line: `stickslip` and `python -m stickslip`.

Ctrl-C while commands are still imported is one line and exit code 130, as it is later.  Once a command has ended, its
exit code stands: Ctrl-C while the interpreter closes down changes nothing.  What cannot be had is the time before
Python runs this file, some hundredths of a second: there Ctrl-C ends the process by the signal itself.

Output that is still in the buffer is written here.  Left to the interpreter, a full disk would end in exit code 120.
"""

import os
import signal
import sys

INTERRUPTED = 130
FAILED = 1


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
    sys.exit(written(code))


def written(code: int) -> int:
    """Write what is left in the buffer of stdout; return the exit code, that of a failure where this fails.

    A reader that went early, as `head` does, is no failure.
    """
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        if code == 0 and not isinstance(error, BrokenPipeError):
            print(f"stickslip: error: the system refuses to read or write: {error.strerror}", file=sys.stderr)
            code = FAILED
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the interpreter writes the buffer once more when it ends
    return code


if __name__ == "__main__":
    main()
