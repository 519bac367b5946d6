"""Tools for the commands of a project and its user: Markdown files with front matter."""
