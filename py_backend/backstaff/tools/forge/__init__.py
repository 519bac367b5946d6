"""Forge's file system tools."""
