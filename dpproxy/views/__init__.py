"""Protected views: what their columns are, how they are made, and the files they are kept in."""
