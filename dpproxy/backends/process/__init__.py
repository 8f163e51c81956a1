"""The process that reads rows: started, confined, spoken to and ended.

In: a statement for the exact stage. Out: Arrow batches. Start at ``remote``, on the other side at ``worker``.
"""
