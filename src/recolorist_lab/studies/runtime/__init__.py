"""The runtime study: cell, table and figure."""
