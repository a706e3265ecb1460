"""Names for authors of plug-ins: the common shape, and the contract of each extension point.

Environments, credit methods and losses have homes of their own: `cairn.env`, `cairn.credit` and `cairn.losses`.
`docs/plugins.md` lists every plug-in.
"""

from cairn.agents.backend import Backend, Message, Reply, Request, TurnContext, text_reply
from cairn.agents.config import BackendConfig, SamplingConfig, TurnBackendConfig
from cairn.agents.context.base import Context, ContextPlugin, Prompt, TakesNotes
from cairn.agents.forms.base import FormConfig, Parsed, ReplyForm, invalid
from cairn.core.config import Config
from cairn.core.errors import CairnError, ConfigError, EpisodeFailure, MissingExtraError, ModelFailure, SandboxFailure
from cairn.core.plugins import POINTS, ExtensionPoint, Plugin, from_function
from cairn.core.records import Observation
from cairn.envs.perturbations.base import Perturbation, PerturbationConfig
from cairn.sandboxes.base import Limits, Sandbox, SandboxConfig
from cairn.sandboxes.sandbox_process import SandboxProcess
from cairn.trainer.trackers.base import TrackedRun, Tracker, TrackerConfig

__all__ = [
    "POINTS",
    "Backend",
    "BackendConfig",
    "CairnError",
    "Config",
    "ConfigError",
    "Context",
    "ContextPlugin",
    "EpisodeFailure",
    "ExtensionPoint",
    "FormConfig",
    "Limits",
    "Message",
    "MissingExtraError",
    "ModelFailure",
    "Observation",
    "Parsed",
    "Perturbation",
    "PerturbationConfig",
    "Plugin",
    "Prompt",
    "Reply",
    "ReplyForm",
    "Request",
    "SamplingConfig",
    "Sandbox",
    "SandboxConfig",
    "SandboxFailure",
    "SandboxProcess",
    "TakesNotes",
    "TrackedRun",
    "Tracker",
    "TrackerConfig",
    "TurnBackendConfig",
    "TurnContext",
    "from_function",
    "invalid",
    "text_reply",
]
