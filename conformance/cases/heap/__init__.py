"""The memory of adstacks: any depth, any type, grown as needed, within a limit."""
