"""What plans should do: the tests that judge a repair."""

from jobs.chart import chart
from jobs.errors import CycleFault, MissingFault, PlanFault
from jobs.plan import Plan


def house(workers):
    plan = Plan(workers)
    plan.add("walls", 6, needs=["ground"])
    plan.add("roof", 3, needs=["walls"], due=14)
    plan.add("ground", 4, due=4)
    plan.add("garden", 5, needs=["ground"], due=8)
    plan.add("fence", 2)
    return plan


def refused(plan, *job, **more):
    try:
        plan.add(*job, **more)
    except ValueError:
        return True
    return False


def test_order_by_priority_then_alphabet():
    plan = Plan()
    plan.add("c", 1)
    plan.add("b", 1, 5, ["c"])
    plan.add("a", 1, 2)
    plan.add("d", 1, 2)
    plan.add("e", 1, -1)
    assert plan.order() == ["a", "d", "c", "b", "e"]


def test_a_house_by_two():
    run = house(2).run()
    assert run.rows() == [
        ("fence", 0, 0, 2),
        ("ground", 1, 0, 4),
        ("garden", 0, 4, 9),
        ("walls", 1, 4, 10),
        ("roof", 0, 10, 13),
    ]
    assert run.length == 13
    assert run.idle() == 26 - 20
    assert run.late() == {"garden": 1}


def test_a_house_by_one():
    run = house(1).run()
    assert [row[0] for row in run.rows()] == ["fence", "ground", "garden", "walls", "roof"]
    assert (run.length, run.idle()) == (20, 0)
    assert run.late() == {"ground": 2, "garden": 3, "roof": 6}


def test_more_workers_than_jobs():
    run = house(9).run()
    assert run.length == 13
    assert run.idle() == 9 * 13 - 20
    assert run.rows()[0] == ("fence", 0, 0, 2)
    assert run.rows()[-1] == ("roof", 0, 10, 13)


def test_waiting_makes_urgent():
    plan = Plan()
    plan.add("first", 10, 9)
    plan.add("old", 3, 0)
    plan.add("young", 3, 1, earliest=1)
    assert [row[0] for row in plan.run().rows()] == ["first", "old", "young"]


def test_nine_ticks_are_not_enough_to_be_urgent():
    plan = Plan()
    plan.add("first", 9, 9)
    plan.add("old", 3, 0)
    plan.add("young", 3, 1)
    run = plan.run()
    assert [row[0] for row in run.rows()] == ["first", "young", "old"]
    assert [run.waited(name) for name in ("first", "young", "old")] == [0, 9, 12]


def test_waiting_counts_from_ready():
    plan = Plan()
    plan.add("a", 4, 3)
    plan.add("b", 8, 2)
    plan.add("c", 1, 1, needs=["a"])
    plan.add("d", 1, 0, earliest=1)
    run = plan.run()
    assert run.rows() == [("a", 0, 0, 4), ("b", 0, 4, 12), ("c", 0, 12, 13), ("d", 0, 13, 14)]
    assert run.waited("c") == 8
    assert run.waited("d") == 12


def test_jobs_do_not_begin_too_early():
    plan = Plan(2)
    plan.add("a", 2, earliest=3)
    plan.add("b", 1, needs=["a"], earliest=2)
    plan.add("c", 1, needs=["a"], earliest=7)
    run = plan.run()
    assert run.rows() == [("a", 0, 3, 5), ("b", 0, 5, 6), ("c", 0, 7, 8)]
    assert run.waited("b") == 0
    assert run.idle() == 16 - 4


def test_several_needs_must_all_have_ended():
    plan = Plan(3)
    plan.add("z", 1, needs=("x", "y"))
    plan.add("x", 2)
    plan.add("y", 5)
    assert plan.run().rows() == [("x", 0, 0, 2), ("y", 1, 0, 5), ("z", 0, 5, 6)]
    assert plan.order() == ["x", "y", "z"]


def test_in_time_is_not_late():
    plan = Plan()
    plan.add("a", 5, due=5)
    plan.add("b", 1, due=0)
    plan.add("c", 1)
    assert plan.run().late() == {"b": 6}


def test_nothing_to_do():
    plan = Plan(3)
    run = plan.run()
    assert (run.length, run.rows(), run.late(), run.idle()) == (0, [], {}, 0)
    assert plan.order() == []
    assert plan.path() == (0, [])


def test_missing_needs_are_told_first():
    plan = Plan()
    plan.add("a", 1, needs=["b", "q"])
    plan.add("b", 1, needs=["a", "p"])
    for ask in (plan.order, plan.run, plan.path):
        try:
            ask()
        except MissingFault as fault:
            assert fault.names == ["p", "q"]
        else:
            raise AssertionError("something is missing")
    plan.add("p", 1)
    plan.add("q", 1)
    try:
        plan.run()
    except CycleFault as fault:
        assert fault.names == ["a", "b"]
    else:
        raise AssertionError("a circle was run")


def test_circles_and_what_waits_for_them():
    plan = Plan()
    plan.add("alone", 1)
    plan.add("self", 1, needs=["self"])
    plan.add("after", 1, needs=["alone", "self"])
    try:
        plan.path()
    except PlanFault as fault:
        assert fault.names == ["after", "self"]
    else:
        raise AssertionError("a circle has no longest chain")


def test_the_longest_chain():
    assert house(1).path() == (13, ["ground", "walls", "roof"])
    plan = Plan()
    plan.add("b", 3)
    plan.add("a", 3, earliest=50)
    plan.add("c", 2, needs=["b", "a"])
    plan.add("d", 2, needs=["b"])
    assert plan.path() == (5, ["a", "c"])
    plan.add("e", 6)
    assert plan.path() == (6, ["e"])


def test_senseless_jobs_are_refused():
    plan = Plan()
    assert refused(plan, "a", 0)
    assert refused(plan, "a", 1, earliest=-1)
    assert not refused(plan, "a", 1, earliest=0)
    assert refused(plan, "a", 2)
    assert plan.run().rows() == [("a", 0, 0, 1)]
    try:
        Plan(0)
    except ValueError:
        pass
    else:
        raise AssertionError("nobody works")


def test_charts_of_several_workers():
    rows = [("bake", 1, 2, 5), ("ask", 0, 0, 1), ("call", 1, 5, 6), ("dig", 4, 1, 2)]
    assert chart(rows) == ["0: a", "1: ..bbbc", "4: .d"]
    assert chart(rows, 2) == ["0: aa", "1: ....bbbbbbcc", "4: ..dd"]
    assert chart([]) == []


def test_charts_of_a_run():
    assert chart(house(2).run().rows()) == ["0: ff..ggggg.rrr", "1: ggggwwwwww"]
