"""What is no quantity."""


class MeasureFault(Exception):
    """A text that is no quantity, or quantities that do not go together."""


class UnitFault(MeasureFault):
    """A factor that is no unit."""

    def __init__(self, text):
        super().__init__(f"no unit: {text!r}")
        self.text = text


class DimensionFault(MeasureFault):
    """Quantities of other dimensions."""
