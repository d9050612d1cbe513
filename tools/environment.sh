#!/bin/sh
# Create .venv with a suitable Python and install stickslip with its tools into it; do nothing when that is done.
#
#   tools/environment.sh              the first suitable Python on the PATH
#   PYTHON=/path/to/python tools/environment.sh
#
# "Done" is a stamp in .venv: the checkout's path and a checksum of the files that decide what is installed. A
# checksum, not file times: a git checkout changes those. The path, because an environment does not survive a move.
set -eu
cd "$(dirname "$0")/.."

fail() {
    echo "stickslip: $*" >&2
    exit 1
}

# Print "3.12.1" and succeed when "$1" is a Python that runs; the exit status is 3 when it is too old.
version_of() {
    "$1" -c 'import sys
print("%d.%d.%d" % sys.version_info[:3])
sys.exit(0 if sys.version_info >= (3, 11) else 3)' 2>/dev/null
}

# Print the command of the first Python that is new enough and can create environments.
find_python() {
    too_old='' no_venv=''
    if [ -n "${PYTHON:-}" ]; then
        set -- "$PYTHON"
    else
        set -- python3 python3.13 python3.12 python3.11 python3.14 python # python3 is the one the user means
    fi
    for candidate in "$@"; do
        if version=$(version_of "$candidate"); then
            if "$candidate" -c 'import venv, ensurepip' 2>/dev/null; then
                echo "$candidate"
                return
            fi
            no_venv=${no_venv:-"$candidate ($version)"}
        elif [ -n "$version" ]; then
            too_old=${too_old:-"$candidate is $version"}
        fi
    done
    if [ -n "$no_venv" ]; then
        fail "$no_venv has no working venv module: install it (Debian, Ubuntu: apt install python3-venv)," \
            "or name another Python 3.11+ with make PYTHON=..."
    fi
    fail "needs Python 3.11 or newer (${too_old:-${PYTHON:-python3} not found}):" \
        "install one, or name it with make PYTHON=..."
}

here=$(pwd)
stamp=.venv/stickslip-stamp
wanted=$(cat pyproject.toml constraints.txt src/stickslip/_version.py | cksum)

made_here=''
if [ -f "$stamp" ]; then
    made_here=$(head -n 1 "$stamp")
    if [ "$made_here" = "$here" ] && [ "$(tail -n 1 "$stamp")" = "$wanted" ] && [ -x .venv/bin/python ]; then
        exit 0
    fi
fi

# A working environment is kept, with our stamp or without. One that was moved, half made, or whose Python is gone
# is made anew.
works() {
    version_of .venv/bin/python >/dev/null && .venv/bin/python -c 'import pip' 2>/dev/null
}
if ! works || [ "${made_here:-$here}" != "$here" ]; then
    python=$(find_python)
    echo "Creating .venv with Python $(version_of "$python")." >&2
    if ! reason=$("$python" -m venv --clear .venv 2>&1); then
        fail "$python could not create .venv: $(echo "$reason" | tail -n 1)"
    fi
fi

echo "Installing stickslip and its tools into .venv; this takes a minute or two." >&2
.venv/bin/python -m pip install -qq --disable-pip-version-check --no-compile -e '.[dev]' -c constraints.txt ||
    fail "the installation failed; pip's message stands above."
# Byte code by all cores at once and not of the packages' own tests, where pip takes half a minute on one. What does not
# compile is meant for other Pythons.
.venv/bin/python -m compileall -qq -j 0 -x '/tests?/' .venv/lib || true
printf '%s\n%s\n' "$here" "$wanted" >"$stamp"
