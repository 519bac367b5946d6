"""Tools that look at the workspace as a whole."""
