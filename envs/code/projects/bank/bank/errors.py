"""What a bank refuses."""


class BankFault(Exception):
    """A request that the bank refuses."""


class AccountFault(BankFault):
    """An account that is not there."""


class ClosedFault(BankFault):
    """An account that is closed."""


class FundsFault(BankFault):
    """Too little money; `missing` is how much."""

    def __init__(self, missing):
        super().__init__(f"{missing} cents too few")
        self.missing = missing
