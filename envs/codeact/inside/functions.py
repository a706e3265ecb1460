"""What a program finds: `act`, `actions`, and a function for each tool of the environment.

`TOOLS`, a JSON text of names and the names of their parameters, stands above this source when it is sent; the
interpreter gives `_cairn_call`, which has the host do something.
"""

import json
import sys


def act(action):
    """Carry out an action and return what it shows."""
    return _cairn_call("act", {"action": action})


def actions():
    """Return the actions that would do something now, or None where the environment does not say."""
    return _cairn_call("actions", {})


def _function(tool, parameters):
    def function(*values, **arguments):
        if len(values) > len(parameters):
            raise TypeError(f"{tool} takes {len(parameters)} arguments: {', '.join(parameters)}")
        for name, value in zip(parameters, values):
            if name in arguments:
                raise TypeError(f"{tool} got {name} twice")
            arguments[name] = value
        return _cairn_call("tool", {"name": tool, "arguments": arguments})

    function.__name__ = tool
    return function


sys.displayhook = lambda value: None  # what is not printed is not shown
for _tool, _parameters in json.loads(TOOLS).items():
    globals()[_tool] = _function(_tool, _parameters)
