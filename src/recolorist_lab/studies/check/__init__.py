"""The check study: cell, table and figure."""
