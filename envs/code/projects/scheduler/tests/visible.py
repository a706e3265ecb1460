"""What plans should do: the tests that everybody sees."""

from jobs.chart import chart
from jobs.errors import CycleFault
from jobs.plan import Plan


def breakfast(workers=1):
    plan = Plan(workers)
    plan.add("boil", 3)
    plan.add("tea", 2, needs=["boil"])
    plan.add("toast", 4, priority=1)
    return plan


def test_jobs_come_after_what_they_need():
    assert breakfast().order() == ["toast", "boil", "tea"]


def test_one_worker_runs_one_job_after_another():
    run = breakfast().run()
    assert run.rows() == [("toast", 0, 0, 4), ("boil", 0, 4, 7), ("tea", 0, 7, 9)]
    assert run.length == 9


def test_two_workers_share_the_jobs():
    run = breakfast(2).run()
    assert run.rows() == [("toast", 0, 0, 4), ("boil", 1, 0, 3), ("tea", 1, 3, 5)]
    assert run.idle() == 1


def test_circles_are_refused():
    plan = Plan()
    plan.add("a", 1, needs=["b"])
    plan.add("b", 1, needs=["a"])
    try:
        plan.order()
    except CycleFault as fault:
        assert fault.names == ["a", "b"]
    else:
        raise AssertionError("a circle was put in order")


def test_the_critical_path():
    assert breakfast().path() == (5, ["boil", "tea"])


def test_what_is_late():
    plan = Plan()
    plan.add("a", 5, due=4)
    assert plan.run().late() == {"a": 1}


def test_charts():
    assert chart([("wash", 0, 0, 2), ("dry", 0, 3, 4)]) == ["0: ww.d"]
