"""From a statement to a plan, rule by rule."""
