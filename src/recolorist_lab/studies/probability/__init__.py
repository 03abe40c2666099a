"""The probability study: cell, table and figure."""
