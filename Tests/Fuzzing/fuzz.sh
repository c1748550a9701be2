#!/bin/sh
# Runs each fuzz target for a time, over its kept corpus and what earlier runs have found.
#
# fuzz.sh PROGRAM SECONDS TARGET...
#
# What a run finds new stays in the folder `corpus` two levels above the program. An input that breaks a property is
# kept in Crashes, where the tests replay it; the status is then 1.
set -u
program=$1 seconds=$2
shift 2
folder=$(dirname "$0")
found=$(dirname "$program")/../../corpus
# Swift's own report of a crash would keep libFuzzer from writing the input.
export SWIFT_BACKTRACE=enable=no
status=0
for target in "$@"; do
    mkdir -p "$found/$target" "$folder/Corpus/$target" "$folder/Crashes/$target"
    log=$found/$target.log
    if SUBPROXY_FUZZ_TARGET=$target "$program" -max_total_time="$seconds" -dict="$folder/http.dict" -max_len=4096 \
        -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$folder/Crashes/$target/" \
        "$found/$target" "$folder/Corpus/$target" > "$log" 2>&1; then
        echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, nothing found"
    else
        echo "$target: broken; the report is in $log"
        grep -aE 'Fatal error|ERROR:|Test unit written' "$log"
        status=1
    fi
    rmdir "$folder/Crashes/$target" 2> /dev/null || true
done
exit $status
