#!/usr/bin/env bash
# Builds matrix to BIN and, if STACK is not empty, what is missing of the stack. The whole stack, whichever lanes run: what is cached under its key is
# never added to. Without cgo, so that the program also starts on a machine with another C library that has it from the cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ -n $STACK && ! -x $BIN ]]; then # the stack's modules are downloaded while matrix is compiled; what fails here, the build of the stack reports
  (cd kwok/stack && GOWORK=off GOFLAGS=-mod=readonly go list -deps tool) >/dev/null 2>&1 &
fi
[[ -x $BIN ]] || CGO_ENABLED=0 go build -buildvcs=false -ldflags='-s -w' -o "$BIN" ./cmd/matrix
[[ -z $STACK ]] || "$BIN" stack build
