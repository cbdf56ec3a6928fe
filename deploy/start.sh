#!/bin/sh
# Serve an index, which is made first where there is none: neardup-start [OPTION]...
#
# The options are those of `neardup serve`. INDEX_FOLDER says where the index is; INDEX_OPTIONS are words for
# `neardup index create`, such as "--shingle word:3 --threshold 0.8".
set -euf # a * among the words is for neardup

neardup=$(dirname "$0")/neardup
index=${INDEX_FOLDER:-/data/index}
if [ ! -e "$index" ]; then
    # shellcheck disable=SC2086  # the options are words
    "$neardup" index create "$index" --quiet ${INDEX_OPTIONS:-}
fi
exec "$neardup" serve "$index" "$@"
