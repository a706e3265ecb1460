"""The functions of a program: `act`, `actions`, and one for each tool of the environment.

The sender prepends `TOOLS`, a JSON text that maps tools to the names of their parameters. The interpreter provides
`_cairn_call`, which sends a call to the host.
"""

import json
import sys


def act(action):
    """Carry out an action and return the observation."""
    return _cairn_call("act", {"action": action})


def actions():
    """Return the admissible actions, or None if the environment does not list them."""
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


sys.displayhook = lambda value: None  # only printed values are shown
for _tool, _parameters in json.loads(TOOLS).items():
    globals()[_tool] = _function(_tool, _parameters)
