#!/bin/sh
# Build wheel and sdist, install the wheel alone into a fresh environment of each Python, and use it there.
#
#   tools/check_wheel.sh                         the Python of .venv
#   tools/check_wheel.sh python3.12 python3.13   others
#   WHEEL=dist/stickslip.whl tools/check_wheel.sh python3.14    a wheel that is there already
#
# The checkout is not seen: commands run in an empty folder. Only pip uses the network; the program itself must not,
# so proxies that answer nobody are set while it runs.
set -eu
cd "$(dirname "$0")/.."
here=$(pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

if [ -z "${WHEEL:-}" ]; then
    .venv/bin/python -m build --outdir "$folder/dist" . >"$folder/build.log" 2>&1 || {
        tail -n 20 "$folder/build.log" >&2
        exit 1
    }
    WHEEL=$(ls "$folder"/dist/*.whl)
    sdist=$(ls "$folder"/dist/*.tar.gz)
    echo "$(basename "$sdist"), $(basename "$WHEEL") (from the sdist)"
fi
case $WHEEL in /*) ;; *) WHEEL=$here/$WHEEL ;; esac

check() {
    environment=$folder/$2
    "$1" -m venv "$environment"
    "$environment/bin/python" -m pip install -qq --disable-pip-version-check "$WHEEL"
    mkdir "$environment/work"
    (
        cd "$environment/work"
        STICKSLIP_CACHE=$environment/cache
        http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9
        export STICKSLIP_CACHE http_proxy https_proxy
        unset PYTHONPATH
        "$environment/bin/stickslip" run woodpecker --t-end 0.3 --out run.nc --plot run.png --export run.html --json >run.json
        "$environment/bin/stickslip" check --schema >schema.json
        "$environment/bin/stickslip" new bouncing_ball >ball.toml
        "$environment/bin/stickslip" run ball.toml --t-end 0.5 --json >ball.json
        "$environment/bin/python" "$here/tools/check_wheel.py"
    )
}

for python in "${@:-.venv/bin/python}"; do
    name=$("$python" -c 'import sys; print("python%d.%d.%d" % sys.version_info[:3])')
    printf '%s: ' "$name"
    check "$python" "$name"
done
