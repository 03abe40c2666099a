"""The spaces study: cell, table and figure."""
