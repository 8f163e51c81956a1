"""What was released already and answers a question: the same release, one that it follows from, or a cube.

In: the exact stage of a part. Out: from which releases it is computed, and how.
Start at ``normal_form``, then ``rollup``.
"""
