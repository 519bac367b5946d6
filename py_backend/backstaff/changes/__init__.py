"""The changes of a work tree, as git tells them in a clean repository.

Git's lists alone make a status in some seventy lines. The rest buys this:

- `status`: submodules with changes of their own, without a git that reads their settings;
- `work_tree`: files that only a program could compare; contents that come through the root;
- `comparison`: unsaved text, secrets kept back, and patches that are read as far as they are shown;
- `patch`: definitions behind `@@`, and no line that is not in the file below the root;
- `history`: the lines of a commit counted where git has its contents, and who wrote a line.
"""
