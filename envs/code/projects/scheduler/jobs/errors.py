"""What makes a plan impossible."""


class PlanFault(Exception):
    """Jobs that cannot be put in order; `names` tells which."""

    def __init__(self, names):
        super().__init__(", ".join(names))
        self.names = list(names)


class MissingFault(PlanFault):
    """Needs that no job has."""


class CycleFault(PlanFault):
    """Jobs that wait for one another."""
