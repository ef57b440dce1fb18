"""A Parquet file that no reader can read, and whose metadata does not show it."""

from __future__ import annotations

import pyarrow.parquet as pq


def damage(path, table, column, **settings):
    """Write the table with a page of the last row group, of one column, whose content cannot be unpacked."""
    plain = {"compression": "gzip", "use_dictionary": False, "write_statistics": False}
    pq.write_table(table, path, **plain, **settings)
    footer = pq.read_metadata(path)
    group = footer.row_group(footer.num_row_groups - 1)
    part = group.column(table.column_names.index(column))
    first, last = part.data_page_offset + 24, part.data_page_offset + part.total_compressed_size
    data = bytearray(path.read_bytes())
    data[first:last] = b"\x55" * (last - first)
    path.write_bytes(data)
    return str(path)
