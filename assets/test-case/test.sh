#!/bin/sh
# Makes the recorded call beside this file again. It ends with 0 only if the call succeeds now.
# JUKEBOX names the program, JUKEBOX_WITH a directory of sources that are laid over the files.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 2
if [ -n "${JUKEBOX_WITH:-}" ]; then
    exec "${JUKEBOX:-jukebox}" test "$here" --with "$JUKEBOX_WITH"
fi
exec "${JUKEBOX:-jukebox}" test "$here"
