"""Generated text as the source of kernels."""

import linecache


def run_as_file(names, source):
    """Execute text among some names; its functions find their own source, as those of a file do."""
    file = f"<text {len(linecache.cache)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), names)
    return names
