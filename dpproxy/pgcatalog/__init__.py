"""What clients ask about the database, answered from the policy."""
