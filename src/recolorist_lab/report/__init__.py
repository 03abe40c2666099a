"""Make reports from the ledger: tables in four formats, figures in two, and one page with all of them."""
