"""Cluster settings: which parts of a run are Ray actors, and the resources of each kind."""

from __future__ import annotations

from pydantic import Field, model_validator

from cairn.core.config import Config


class ActorResources(Config):
    """The resources of an actor."""

    cpus: float = Field(1.0, ge=0, description="Processor cores.")
    gpus: float = Field(0.0, ge=0, description="GPUs; a part of one is allowed.")
    resources: dict[str, float] = Field(
        default_factory=dict, description="Custom resources, as `ray start --resources` gave them to machines."
    )


class PlacementConfig(Config):
    """Where each kind of actor runs."""

    worker: ActorResources = ActorResources()
    learner: ActorResources = ActorResources()
    writer: ActorResources = ActorResources(cpus=0)


class ClusterConfig(Config):
    """Settings of a run on several machines; the defaults neither import nor start Ray."""

    workers: int = Field(0, ge=0, description="Rollout workers; 0: episodes are played in the trainer's process.")
    ranks: int = Field(1, ge=1, description="Processes that share the learning; 1: the trainer's process learns.")
    writer: bool = Field(False, description="The run's store is written by an actor.")
    address: str | None = Field(
        None,
        pattern=r"^[^:/\s]+:\d{1,5}$",
        description="Of a Ray cluster, HOST:PORT; None: the one on this machine, or a new one.",
    )
    placement: PlacementConfig = PlacementConfig()
    replacements: int = Field(10, ge=0, description="Dead actors that are replaced before the run stops with an error.")
    silence_s: float = Field(
        600.0, gt=0, description="An actor that has not answered for so long counts as dead, in seconds."
    )
    start_s: float = Field(
        300.0, gt=0, description="The run stops if for so long no worker could start and none was there, in seconds."
    )

    @model_validator(mode="after")
    def _check(self) -> ClusterConfig:
        if not self.is_used and self != ClusterConfig.model_construct():
            raise ValueError("these settings do nothing without workers, ranks or writer; set one of them")
        return self

    @property
    def is_used(self) -> bool:
        """Whether at least one part of the run is an actor."""
        return self.workers > 0 or self.ranks > 1 or self.writer
