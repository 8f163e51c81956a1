from contextlib import suppress

from dpproxy.values.jobs import Jobs


def test_a_job_lasts_as_long_as_its_block():
    jobs = Jobs()
    with jobs.job("view", "a") as one, jobs.job("table", "b"):
        one.move(0.25)
        assert [(job.kind, job.name, job.look()) for job in jobs.all()] == [
            ("view", "a", 0.25),
            ("table", "b", None),
        ]
    assert jobs.all() == []


def test_a_job_that_fails_is_over():
    jobs = Jobs()
    with suppress(ZeroDivisionError), jobs.job("view", "a"):
        assert 1 // 0
    assert jobs.all() == []


def test_a_job_may_be_asked_how_far_it_is():
    jobs = Jobs()
    with jobs.job("table", "a", look=lambda: 0.25):
        assert [job.look() for job in jobs.all()] == [0.25]
