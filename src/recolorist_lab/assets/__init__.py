"""Downloads, archives, weights and the zoo of checkpoints."""
