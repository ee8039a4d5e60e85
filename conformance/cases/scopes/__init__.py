"""Names, blocks, types of locals."""
