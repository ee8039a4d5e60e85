"""Every scalar type meets every other: conversions and common types, against exact arithmetic."""
