"""What a statement means for privacy: scopes, types, bounds, keys, totality."""
