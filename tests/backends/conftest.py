from tests.backends.lake import lake, spark
from tests.spark import connect_port, sail_port, spark_cluster

__all__ = ["connect_port", "lake", "sail_port", "spark", "spark_cluster"]
