"""No deadline for one example: the machine may be busy, and the time of an example proves nothing."""

from hypothesis import HealthCheck, settings

settings.register_profile("wire", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("wire")
