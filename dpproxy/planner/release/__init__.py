"""What is released, by which mechanism, at which loss, and what else it answers.

In: measures over a relation of protected rows. Out: parts of a plan. Start at ``exact``, then ``allocation``.
"""
