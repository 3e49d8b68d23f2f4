#!/usr/bin/env bash
# Compiles every program of expected.toml without a warning and runs those that are right, natively, some times each.
#
#   programs/smoke.sh [--runs N]       compile all; run the verified ones N times (20) with a timeout
#   programs/smoke.sh --noise [N]      also run the failing ones up to N times (300) with naps at shared accesses, until they fail;
#                                      data races are looked for with the compiler's own thread sanitizer, wrong uses of
#                                      memory with valgrind. It needs luck: what was never seen to fail is listed. The right
#                                      ones run N/4 times with naps and 10 times under the sanitizer.
#   ONLY=text                          only programs whose name has this in it
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
runs=20 noise=0 failed=0 cases=0 unseen=()

while [ $# -gt 0 ]; do
    case $1 in
        --runs) runs=$2; shift 2 ;;
        --noise) noise=300; shift; if [ $# -gt 0 ]; then noise=$1; shift; fi ;;
        *) sed -n '2,11p' "$0"; exit 2 ;;
    esac
done

# One line for each table: verdict, kind, file, defines, args, whether it races on purpose; the lists with spaces between.
tables() {
    awk '
        function list(s) { gsub(/.*\[|\].*|"|,/, "", s); return s }
        function text(s) { sub(/[^"]*"/, "", s); sub(/".*/, "", s); return s }
        function flush() { if (file) print verdict ";" kind ";" file ";" defines ";" args ";" racy }
        /^\[\[program\]\]/ { flush(); file = kind = defines = args = verdict = racy = "" }
        /^file =/ { file = text($0) }
        /^verdict =/ { verdict = text($0) }
        /^kind =/ { kind = text($0) }
        /^defines =/ { defines = list($0) }
        /^args =/ { args = list($0) }
        /^flags =.*--races sync/ { racy = "racy" }
        END { flush() }
    ' "$here/expected.toml" | sort -u
}

build() { # output, file, defines, more options
    local out=$1 file=$2 defines=$3 compiler
    shift 3
    local options=(-g -Wall -Wextra -Werror -pthread)
    for d in $defines; do options+=("-D$d"); done
    case $file in
        *.cpp) compiler=${CXX:-g++} options+=(-std=c++20) ;;
        *) compiler=${CC:-gcc} options+=(-std=gnu11) ;;
    esac
    "$compiler" "${options[@]}" "$@" -c "$here/$file" -o "$work/main.o" || return 1
    local objects=("$work/main.o")
    if grep -q -e __VERIFIER -e reach_error "$here/$file"; then objects+=("$work/verifier.o"); fi
    local link=(-pthread)
    case " $* " in
        *" -fsanitize=thread -DNOISE "*)
            objects+=("$work/noise.o")
            for f in pthread_mutex_{lock,trylock,unlock} pthread_rwlock_{rd,wr}lock pthread_cond_signal pthread_barrier_wait free; do
                link+=("-Wl,--wrap=$f")
            done ;;
        *" -fsanitize=thread "*) link+=(-fsanitize=thread) ;;
    esac
    "$compiler" "${objects[@]}" "${link[@]}" -o "$out"
}

# Never fails in so many runs?
holds() { # runs, arguments
    local n=$1
    shift
    for ((i = 0; i < n; i++)); do
        if ! timeout -s KILL 10 "$work/a.out" "$@" >"$work/output" 2>&1; then
            echo "fails: $name"
            cat "$work/output"
            failed=1
            return 1
        fi
    done
}

# The sanitizer sees no data race in so many runs? What else it says is about what it does not know: C11 threads, error-checking
# mutexes, threads that nobody joins.
no_race() { # runs, arguments
    local n=$1
    shift
    for ((i = 0; i < n; i++)); do
        { timeout -s KILL 4 "$work/a.out" "$@"; } >"$work/output" 2>&1
        if grep -q 'data race' "$work/output"; then
            echo "data race: $name"
            cat "$work/output"
            failed=1
            return 1
        fi
    done
}

# Fails within so many runs?
shows() { # runs, command
    local n=$1
    shift
    for ((i = 0; i < n; i++)); do
        { timeout -s KILL 3 "$@" || return 0; } >/dev/null 2>&1
    done
    return 1
}

"${CC:-gcc}" -std=gnu11 -O1 -c "$here/native/verifier.c" -o "$work/verifier.o" || exit 2
"${CC:-gcc}" -std=gnu11 -O1 -c "$here/native/noise.c" -o "$work/noise.o" || exit 2

while IFS=';' read -r verdict kind file defines args racy; do
    case "$file" in *"${ONLY:-}"*) ;; *) continue ;; esac
    cases=$((cases + 1))
    name="$file ${defines:+($defines)}"
    if ! build "$work/a.out" "$file" "$defines"; then
        echo "does not compile: $name"
        failed=1
        continue
    fi
    # shellcheck disable=SC2086 # the arguments are words
    if [ "$verdict" = verified ]; then
        holds "$runs" $args || continue
        [ "$noise" -gt 0 ] || continue
        build "$work/a.out" "$file" "$defines" -fsanitize=thread -DNOISE && holds $((noise / 4)) $args || continue
        [ -n "$racy" ] || { build "$work/a.out" "$file" "$defines" -fsanitize=thread && no_race 10 $args; }
    elif [ "$noise" -gt 0 ]; then
        case $kind in
            data-race | lock-misuse)
                build "$work/a.out" "$file" "$defines" -fsanitize=thread && shows 20 "$work/a.out" $args ||
                    { build "$work/a.out" "$file" "$defines" -fsanitize=thread -DNOISE && shows "$noise" "$work/a.out" $args; } ;;
            *free*)
                build "$work/a.out" "$file" "$defines" -fsanitize=thread -DNOISE &&
                    shows 20 valgrind -q --error-exitcode=9 "$work/a.out" $args ;;
            leak)
                build "$work/a.out" "$file" "$defines" -fsanitize=thread -DNOISE &&
                    shows 20 valgrind -q --leak-check=full --error-exitcode=9 "$work/a.out" $args ;;
            nondeterminism) ;;
            *)
                build "$work/a.out" "$file" "$defines" -fsanitize=thread -DNOISE && shows "$noise" "$work/a.out" $args ;;
        esac || unseen+=("$name: $kind")
    fi
done < <(tables)

echo "$cases ways to compile, $runs runs of each right one"
if [ ${#unseen[@]} -gt 0 ]; then
    echo "never seen to fail:"
    printf '  %s\n' "${unseen[@]}"
fi
exit $failed
