"""Which digests a trajectory file carries, and whether the file still holds what they were taken of.

The rows of each table are digested in blocks; one more digest covers everything else (`stickslip.io.digests`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.io import digests
from stickslip.io.checkpoint import checkpoint_in
from stickslip.io.disk import member
from stickslip.io.texts import number
from stickslip.io.trajectory_layout import LABELS, LAYOUT, TABLES, tables_in
from stickslip.io.whole import array

_PIECE = 2**24  # bytes of rows read at a time


def table_digests(datasets: Mapping[str, Any], table: str, rows: int, blocks: int) -> digests.TableDigests:
    """Digests of the rows of a table, after `blocks` blocks of `rows` rows."""
    names = [name for name in TABLES[table] if name in datasets]
    return digests.TableDigests({name: (LAYOUT[name].dtype, datasets[name].shape[1:]) for name in names}, rows, blocks)


def header_digest(
    datasets: Mapping[str, Any], attributes: Mapping[str, Any], rows: Mapping[str, int], packet: Any
) -> bytes:
    """Digest of what a file holds besides the rows of its tables: attributes, names, numbers of rows, checkpoint."""
    parts = [*digests.attribute_parts(attributes), *digests.dataset_parts({name: datasets[name] for name in LABELS})]
    for table in tables_in(datasets):
        shapes = {name: datasets[name].shape for name in TABLES[table] if name in datasets}
        parts.append(f"{table}\0{rows[table]}\0{shapes}".encode())
    if packet is not None:
        parts += [*digests.attribute_parts(dict(packet.attrs)), np.asarray(packet[...]).tobytes()]
    return digests.digest(parts)


def verify(
    file: Any,
    datasets: Mapping[str, Any],
    attributes: Mapping[str, Any],
    values: Mapping[str, np.ndarray] | None = None,
) -> bool:
    """DigestError unless a file holds what was written; False where it carries no digests.

    `values` are the rows as they were read; without them they are read piece by piece.
    """
    group = member(file, digests.GROUP)
    if group is None:
        return False
    written = {table: array(group, table) for table in tables_in(datasets)}
    rows = {table: int(number(dataset.attrs["rows"])) for table, dataset in written.items()}
    digests.check_header(group, header_digest(datasets, attributes, rows, checkpoint_in(file)))
    source = datasets if values is None else values
    for table in written:
        found = table_digests(datasets, table, rows[table], 0)
        length = len(source[found.names[0]])
        width = sum(math.prod(datasets[name].shape[1:]) * 8 for name in found.names)
        step = max(1, length if values is not None else _PIECE // max(1, width))
        for begin in range(0, length, step):
            found.append({name: np.asarray(source[name][begin : begin + step]) for name in found.names})
        digests.check_blocks(f"the table along {table}", found.rows(), np.asarray(written[table][...]))
    return True
