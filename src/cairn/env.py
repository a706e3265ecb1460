"""Names for authors of environments: the base class, its declarations, errors, checks, and sandboxes.

`docs/tutorials/add-environment.md` is the guide. Environments without code of their own: `cairn.tools_env`,
`cairn.DataEnv`, `cairn.wrap`.
"""

from cairn.core.errors import EnvironmentFailure, MissingDataError, RewardFailure
from cairn.core.keys import bytes_key, text_key
from cairn.core.records import Observation, Schema, Task
from cairn.core.seeding import derive_seed, numpy_generator, python_generator
from cairn.envs.base import EnvConfig, EnvMeta, Outcome, TextEnv
from cairn.envs.checker import PROPERTIES, check_property
from cairn.envs.properties.subject import Subject
from cairn.envs.registry import make, register
from cairn.sandboxes.base import Limits
from cairn.sandboxes.interpreter import Interpreter
from cairn.sandboxes.registry import new_sandbox

__all__ = [
    "PROPERTIES",
    "EnvConfig",
    "EnvMeta",
    "EnvironmentFailure",
    "Interpreter",
    "Limits",
    "MissingDataError",
    "Observation",
    "Outcome",
    "RewardFailure",
    "Schema",
    "Subject",
    "Task",
    "TextEnv",
    "bytes_key",
    "check_property",
    "derive_seed",
    "make",
    "new_sandbox",
    "numpy_generator",
    "python_generator",
    "register",
    "text_key",
]
