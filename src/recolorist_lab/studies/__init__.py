"""The studies, one module per table or figure."""
