# Functions for the scripts of this tree (to be sourced): progress messages with the time since the
# start, and long commands whose output goes to a log. Needs bash.

SAY_START=${SAY_START:-$SECONDS}

# say TEXT: one line, with minutes and seconds since the start.
say() {
  local elapsed=$((SECONDS - SAY_START))
  printf '[%2d:%02d] %s\n' $((elapsed / 60)) $((elapsed % 60)) "$*"
}

# Prints the newest line of LOG every 15 seconds while the process PARENT lives.
say_newest() {
  local log=$1 parent=$2 newest
  while sleep 15 >/dev/null 2>&1 && kill -0 "$parent" 2>/dev/null; do
    newest=$(tail -c 400 "$log" | tr '\r' '\n' | grep -v '^[[:space:]]*$' | tail -n 1 | cut -c -100 || true)
    say "  … ${newest:-running}"
  done
}

# quietly LOG COMMAND…: runs the command with all its output in LOG, prints its newest line at
# intervals, and returns the command's exit code. On failure the end of LOG is shown. The command has
# a process group of its own, so that an interrupt ends all of it.
quietly() {
  local log=$1 code=0 child heart traps
  shift
  : >"$log"
  traps=$(trap -p INT TERM)
  set -m
  "$@" >"$log" 2>&1 </dev/null &
  child=$!
  say_newest "$log" $$ &
  heart=$!
  set +m
  trap 'kill -- "-$child" "-$heart" 2>/dev/null; exit 130' INT TERM
  wait "$child" || code=$?
  trap - INT TERM
  eval "$traps"
  kill -- "-$heart" 2>/dev/null || true
  wait "$heart" 2>/dev/null || true
  if ((code != 0)); then
    say "  '$1' ended with exit code $code; the end of its output:"
    tail -n "${QUIETLY_TAIL:-60}" "$log" | sed 's/^/    /'
  fi
  return "$code"
}
