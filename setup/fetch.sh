#!/usr/bin/env bash
# Downloads a release's matrix to BIN and, if STACK is not empty, installs its stack. Nothing is used whose SHA-256 is not the pinned one, wherever it
# comes from: a file that the cache had, or KEEP, a directory that later jobs have too, is trusted no more than a download.
set -euo pipefail
trap 'rm -f "$FILES"/*.partial' EXIT
fail() { echo "::error title=Release $VERSION::$1"; exit 1; }
digest() { # of a file; macOS may lack sha256sum, and a small Linux image shasum
  if command -v sha256sum > /dev/null; then sha256sum < "$1"; else shasum -a 256 < "$1"; fi | cut -d ' ' -f 1
}
keep() { # a file, its name. mktemp, because another job may have made a link of any name; not to keep a file is no failure
  local new
  [[ -z ${KEEP:-} ]] || { mkdir -p "$KEEP" && new=$(mktemp "$KEEP/new.XXXXXXXX") && cp "$1" "$new" && mv -f "$new" "$KEEP/$2"; } || echo "$2 was not kept in $KEEP"
}
# A GitHub Enterprise Server may have a copy of the release; if not, github.com has it.
servers=("$GITHUB_SERVER_URL")
[[ $GITHUB_SERVER_URL == https://github.com || -n ${AICR_ACTION_NO_FALLBACK:-} ]] || servers+=(https://github.com)
fetch() { # name in the release, its SHA-256, where to
  [[ ! -f $3 || $(digest "$3") != "$2" ]] || return 0
  if [[ -n ${KEEP:-} && -f $KEEP/$1 ]] && cp "$KEEP/$1" "$3.partial" && [[ $(digest "$3.partial") == "$2" ]]; then
    mv "$3.partial" "$3"
    return 0
  fi
  local server url got code=0
  for server in "${servers[@]}"; do
    url=$server/nvidia/aicr-action/releases/download/$VERSION
    code=0
    curl --fail --location --retry 5 --retry-all-errors --proto '=https' --connect-timeout 20 --speed-limit 10000 --speed-time 30 \
      --no-progress-meter --output "$3.partial" "$url/$1" || { code=$?; continue; }
    got=$(digest "$3.partial")
    [[ $got == "$2" ]] || fail "$url/$1 has the SHA-256 $got, and this action is pinned to $2. It was not used. Write version: source to build from source."
    mv "$3.partial" "$3"
    keep "$3" "$1"
    return 0
  done
  fail "$url/$1 could not be downloaded: curl ended with $code (above). Try again, or write version: source to build from source."
}
fetch "$BINARY" "$BINARY_SHA256" "$BIN"
chmod +x "$BIN"
if [[ -n $STACK ]] && ! "$BIN" stack path --complete > /dev/null 2>&1; then
  fetch "$ARCHIVE" "$ARCHIVE_SHA256" "$FILES/stack.tar.zst"
  "$BIN" stack install --sha256 "$ARCHIVE_SHA256" -- "$FILES/stack.tar.zst" || fail "The stack could not be installed; the reason is above."
fi
