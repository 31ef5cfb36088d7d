"""Continuous batching over ints."""

from radixkv.scheduler.messages import SchedulerLimits, SchedulerStats, SequenceUpdate
from radixkv.scheduler.scheduler import Scheduler

__all__ = ["Scheduler", "SchedulerLimits", "SchedulerStats", "SequenceUpdate"]
