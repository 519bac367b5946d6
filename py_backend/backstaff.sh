#!/bin/sh
# Runs a command of Backstaff's, such as `serve --stdio`, by a Python 3.11 or newer:
#
#   /bin/sh backstaff.sh COMMAND ARGUMENT...
#
# It is .venv/bin/python beside this folder; or the first of python3, python3.14 and so on that fits, on the
# PATH, and then where uv, pyenv and Homebrew put theirs: an Emacs that the Dock of macOS has started lacks
# these directories. To learn its version, a Python has to be started. It has 3 seconds, because it may hang.
#
# No library has to be installed, because an archive with all of them is beside this file. The system's own
# are not used (-S): they may have any version.

sources=$(cd "$(dirname "$0")" && pwd)
main=$sources/backstaff/__main__.py
venv=$sources/../.venv/bin/python
[ ! -x "$venv" ] || exec "$venv" -I "$main" "$@"

# The Python names its interpreter, because a shim, such as pyenv's, starts slowly.
probe="import sys; print('%d.%d.%d' % sys.version_info[:3]); print(sys.executable)"
seconds=3
tried=:

# Prints what the Python $1 answers within the time, two lines, or "late".
answer_of() {
    {
        "$1" -I -S -c "$probe" </dev/null 2>/dev/null &
        python=$!
        { sleep "$seconds"; kill -9 $python; } >/dev/null 2>&1 &
        killer=$!
        wait $python
        [ $? -ne 137 ] || echo late
        kill $killer
    } 2>/dev/null | head -n 2
}

# Becomes the program $1 if that is a Python that fits; otherwise prints why it does not.
try() {
    case $tried in *:$1:*) return ;; esac
    tried=$tried$1:
    candidate=$1
    shift
    answer=$(answer_of "$candidate")
    version=$(echo "$answer" | head -n 1)
    python=$(echo "$answer" | tail -n 1)
    [ -x "$python" ] || [ "$version" = late ] || version=
    case $version in
        3.1[1-9].* | 3.[2-9][0-9].*) exec "$python" -I -S "$main" "$@" ;;
        late) problem="says nothing for $seconds seconds" ;;
        [23].*) problem="is $version and too old: 3.11 or newer is needed" ;;
        *) problem='does not answer as Python does' ;;
    esac
    echo "$candidate $problem" >&2
}

for folder in '' "${HOME-}/.local/bin" "${HOME-}/.pyenv/shims" /opt/homebrew/bin \
    /home/linuxbrew/.linuxbrew/bin /usr/local/bin; do
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        if found=$(command -v "${folder:+$folder/}$name"); then
            try "$found" "$@"
        fi
    done
done
echo 'there is no Python 3.11 or newer: install one, for example by apt-get install python3 or brew' \
    'install python, or let backstaff-server-command name a program' >&2
exit 3
