"""One file per mechanism, its proof beside it."""
