"""The properties study: cell, table and figure."""
