"""Agent-Q's file system tools."""
