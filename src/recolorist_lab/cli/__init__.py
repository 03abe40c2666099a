"""The command line of the study, one module per group of commands."""
