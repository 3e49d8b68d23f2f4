#!/usr/bin/env bash
# Prints the tables of docs/rcu.md: how many executions each method takes for each version of c/rcu.c, without a bound and within
# none to four preemptions, and which versions it finds to be wrong. The tables have the form of those of paper 002 (6.3 to 6.8).
#
#   RADDLE=path/to/raddle programs/rcu-table.sh [LIMIT]     LIMIT: seconds for a cell, 60 unless given
#
# Needs jq. A cell has complete executions, `+` those that were cut (asleep, or over the bound), CPU time, and F where the
# failure was found, NF where none was, and > before all of it where the limit came first.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
raddle=${RADDLE:-raddle}
limit=${1:-60}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
versions="- ASSERT_0 FORCE_FAILURE_1 FORCE_FAILURE_2 FORCE_FAILURE_3 FORCE_FAILURE_4 FORCE_FAILURE_5 FORCE_FAILURE_6
          FORCE_FAILURE_7 LIVENESS_CHECK_1 LIVENESS_CHECK_2 LIVENESS_CHECK_3"
TIMEFORMAT='%U %S'

for version in $versions; do
    flag=
    [ "$version" = - ] || flag=-D$version
    "$raddle" cc $flag -o "$work/$version" "$here/c/rcu.c"
done

cell() { # version, method, bound or nothing
    local bound=()
    [ -z "$3" ] || bound=(--bound "preemptions=$3")
    # Exit codes 1 and 3 are answers too.
    { time "$raddle" check "$work/$1" --algorithm "$2" "${bound[@]}" --max-seconds "$limit" --json \
        >"$work/json" 2>"$work/stderr" || true; } 2>"$work/time"
    jq -r --arg time "$(cat "$work/time")" '
        def grouped: tostring | explode | reverse | [range(0; length; 3) as $i | .[$i:$i + 3] | reverse | implode]
            | reverse | join(",");
        ($time | split(" ") | map(tonumber) | add) as $cpu
        | (.blocked + .over_bound) as $cut
        | (if .verdict == "failure" then "F" else "NF" end) as $found
        | (if .verdict == "incomplete" and .open > 0 then "> " else "" end)
            + (.executions | grouped) + (if $cut > 0 then " +" + ($cut | grouped) else "" end)
            + ", " + ($cpu * 100 | round / 100 | tostring) + " s, " + $found
        ' "$work/json" || cat "$work/stderr" >&2
}

table() { # title, bound or nothing, methods
    local title=$1 bound=$2
    shift 2
    printf '\n### %s\n\n| |' "$title"
    printf ' `%s` |' "$@"
    printf '\n|---|'
    for _ in "$@"; do printf '%s' '---|'; done
    echo
    for version in $versions; do
        if [ "$version" = - ]; then printf '| safe |'; else printf '| `%s` |' "$version"; fi
        for method in "$@"; do printf ' %s |' "$(cell "$version" "$method" "$bound")"; done
        echo
    done
}

table 'Without a bound' '' dpor nidhugg-dpor source optimal
for bound in 0 1 2 3 4; do
    table "Within $bound preemptions" "$bound" naive-bpor bpor nidhugg-bpor source-bpor lazy-bpor optimal
done
