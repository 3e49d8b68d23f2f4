#!/usr/bin/env bash
# Fetches source packages of Debian, builds drivers around their threads with `raddle cc`, and explores them: the tables of
# docs/packages.md. Nothing of the packages is kept here.
#
#   RADDLE=path/to/raddle programs/packages/run.sh [WORK] [SECONDS]
#
# WORK is where sources and programs go (a new temporary directory unless given), SECONDS the limit of one search (60).
# Needs apt-get with Debian's keys, dpkg-source, jq, and the headers of zlib and libbz2 (zlib1g-dev, libbz2-dev). The
# system's list of sources is left as it is.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
raddle=${RADDLE:-raddle}
work=${1:-$(mktemp -d)}
limit=${2:-60}
mkdir -p "$work"
cd "$work"

fetch() { # package, release
    mkdir -p apt/lists/partial apt/cache/archives/partial
    for release in bookworm trixie; do
        echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $release main"
    done >apt/sources.list
    local options=(-o "Dir::Etc::SourceList=$work/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$work/apt/lists" -o "Dir::Cache=$work/apt/cache" -o APT::Sandbox::User="$(id -un)")
    [ -e apt/updated ] || { apt-get "${options[@]}" update && touch apt/updated; } >&2
    apt-get "${options[@]}" source "$1/$2" >&2
}

row() { # name, program, options of the search, -- arguments
    local name=$1 program=$2
    shift 2
    # Exit codes 1 and 3 are answers too.
    "$raddle" check "$program" --max-seconds "$limit" --json "$@" >"$work/json" 2>"$work/stderr" || true
    jq -r --arg name "$name" '
        "| \($name) | \(.algorithm) | \(.bound // "none") | \(.threads) | \(.longest) | \(.executions) | \(.blocked + .over_bound)"
        + " | \(.seconds * 100 | round / 100) s | "
        + (if .verdict == "failure" then "**\(.failures[0].kind)** at \(.failures[0].location | sub(".*/(?<f>[^/]*/[^/]*)$"; "\(.f)"))"
           elif .verdict == "incomplete" then "stopped early: none found" else "none found" end) + " |"
        ' "$work/json" || cat "$work/stderr" >&2
}

header() {
    printf '\n### %s\n\n' "$1"
    echo '| test | algorithm | bound | threads | steps | executions | cut | time | failure |'
    echo '|---|---|---|---|---|---|---|---|---|'
}

[ -d libzstd-1.5.4+dfsg2 ] || fetch libzstd bookworm
[ -d pigz-2.8 ] || fetch pigz trixie
[ -d pbzip2-1.1.13 ] || fetch pbzip2 bookworm

header 'zstd 1.5.4: the thread pool'
zstd=$work/libzstd-1.5.4+dfsg2/lib
for test in 1 2 3 4 5; do
    "$raddle" cc -DTEST=$test -DZSTD_MULTITHREAD -I"$zstd" -I"$zstd/common" -o zstd-$test "$here/zstd/driver.c" \
        "$zstd"/common/{pool,threading,zstd_common,error_private}.c
    for bound in 0 1 2 3; do row "$test" ./zstd-$test --algorithm bpor --bound preemptions=$bound; done
    row "$test" ./zstd-$test
done

header 'pigz 2.8: locks, threads and pools of buffers, and the whole program'
pigz=$work/pigz-2.8
for test in 1 2 3; do
    "$raddle" cc -w -DTEST=$test -DNOZOPFLI -I"$pigz" -o pigz-$test "$here/pigz/driver.c" "$pigz"/{yarn,try}.c -lz -lm 2>stderr
    row "$test" ./pigz-$test
done
"$raddle" cc -w -DNOZOPFLI -o pigz "$pigz"/{pigz,yarn,try}.c -lz -lm 2>stderr
head -c 33000 "$pigz/pigz.c" >input
for bound in 0 1; do
    row '`pigz -0 -p 2 -b 32`, 33,000 bytes' ./pigz --algorithm bpor --bound preemptions=$bound -- -kf0 -p 2 -b 32 input
done

header 'pbzip2 1.1.13: producer, queue, consumers and writer'
pbzip2=$work/pbzip2-1.1.13
for test in 1 2 3 4; do
    "$raddle" c++ -w -DTEST=$test -D_LARGEFILE_SOURCE -D_FILE_OFFSET_BITS=64 -I"$pbzip2" -o pbzip2-$test \
        "$here/pbzip2/driver.cpp" "$pbzip2"/{ErrorContext,BZ2StreamScanner}.cpp -lbz2 2>stderr
    for bound in 0 1 2; do row "$test" ./pbzip2-$test --algorithm bpor --bound preemptions=$bound; done
done
row '3, `--races sync`' ./pbzip2-3 --races sync
