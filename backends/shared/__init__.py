"""What code generators and backends of every kind have in common: what running code reports, what is kept on disk."""

from __future__ import annotations
