"""Spark as a data source, by Spark Connect.

In: the exact stage as nodes. Out: its bounded integers. Start at ``server``; ``dialect`` has the constructs.
"""
