"""Who asked what, was told what kind of thing, and at what price: a record that can only grow."""
