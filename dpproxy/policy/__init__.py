"""What the data's owner declares."""
