"""Configurations, cells, the ledger and the sweep; knows no study."""
