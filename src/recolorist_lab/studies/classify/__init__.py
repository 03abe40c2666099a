"""The classify study: cell, table and figure."""
