"""Methods of anonymisation over integer tables: nothing here knows SQL, policies or ledgers."""
