#!/bin/sh
# Makes each target's kept corpus of what runs have found: few small inputs that reach all the code that all of them do.
#
# keep-corpus.sh PROGRAM TARGET...
set -eu
program=$1
shift
folder=$(dirname "$0")
found=$(dirname "$program")/../../corpus
for target in "$@"; do
    mkdir -p "$found/$target" "$folder/Corpus/$target"
    kept=$(mktemp -d)
    SUBPROXY_FUZZ_TARGET=$target "$program" -set_cover_merge=1 -use_counters=0 -max_len=1024 "$kept" \
        "$folder/Corpus/$target" "$found/$target" > "$found/$target.merge.log" 2>&1
    rm -rf "${folder:?}/Corpus/$target"
    mkdir "$folder/Corpus/$target"
    cp "$kept"/* "$folder/Corpus/$target/"
    rm -r "$kept"
    echo "$target: $(ls "$folder/Corpus/$target" | wc -l) inputs"
done
