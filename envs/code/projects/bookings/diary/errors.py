"""What a diary refuses."""


class DiaryFault(Exception):
    """A request that the diary cannot meet."""


class TimeFault(DiaryFault):
    """A time that is none, or outside what is allowed."""


class UnknownRoomFault(DiaryFault):
    """A room that was never added."""


class CollisionFault(DiaryFault):
    """Another booking is in the way; `number` is its."""

    def __init__(self, number):
        super().__init__(f"booking {number} is in the way")
        self.number = number
