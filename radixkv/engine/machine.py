"""What this process may use of the machine: memory and cores, control groups respected."""

from __future__ import annotations

import math
import os
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def free_memory() -> int:
    """Bytes that this process may still take: what the system has free, within its control group's limit."""
    within_group = _cgroup_free_memory()
    system = _system_free_memory()
    return system if within_group is None else min(system, within_group)


def usable_cores() -> int:
    """Cores that this process may run on at once: its affinity, within its control group's quota."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _cgroup_cores()
    return affinity if quota is None else max(1, min(affinity, math.ceil(quota)))


def _system_free_memory() -> int:
    fields = _fields(Path("/proc/meminfo"))
    if "MemAvailable:" in fields:
        return fields["MemAvailable:"] * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2  # no count of free pages here: half of all


def _cgroup_free_memory() -> int | None:
    """Limit minus what cannot be given back, of version 2 or 1; None without a limit."""
    for folder, limit_file, used_file, cache_key in (
        (_CGROUP, "memory.max", "memory.current", "inactive_file"),
        (_CGROUP / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        limit, used = _number(folder / limit_file), _number(folder / used_file)
        if limit is not None and used is not None:
            return max(0, limit - used + _fields(folder / "memory.stat").get(cache_key, 0))
    return None


def _cgroup_cores() -> float | None:
    try:
        quota, period = (_CGROUP / "cpu.max").read_text().split()[:2]
        return int(quota) / int(period)
    except (OSError, ValueError):  # no version 2 group, or "max"
        return None


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _fields(path: Path) -> dict[str, int]:
    """`name number` lines of a file of counters."""
    try:
        rows = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return {}
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}
