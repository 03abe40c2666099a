"""From the ledger to what people read: tables in four forms, figures in two, and one page that ties them together."""
