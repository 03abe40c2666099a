"""The transfer study: cell, table and figure."""
