"""The rehearsal study: cell, table and figure."""
