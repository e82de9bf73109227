#!/usr/bin/env bash
# Finds out which matrix this is, the release's that setup/pins names or the source's, and the names and keys of its files.
# Of the environment: VERSION, STACK and IMAGES (true or false each), the inputs. It writes outputs of the step; stack is empty if it is not wanted.
set -euo pipefail
refuse() { # what is wrong with the input version, or with another one
  echo "::error title=Input ${2:-version}::Input ${2:-version} $1."
  printf '%s\n' exit-code=2 exit-reason=USAGE >> "$GITHUB_OUTPUT"
  exit 2
}
digest() { # of files, a line each; macOS may lack sha256sum, and a small Linux image shasum
  if command -v sha256sum > /dev/null; then sha256sum -- "$@"; else shasum -a 256 -- "$@"; fi
}
[[ $VERSION =~ ^(source|v[0-9]{1,5}\.[0-9]{1,5}\.[0-9]{1,5})?$ ]] || refuse 'has a wrong value; want source, a version such as v1.2.3, or nothing'
[[ $STACK =~ ^(true|false)$ ]] || refuse 'has a wrong value; want true or false' stack
[[ $IMAGES =~ ^(true|false)$ ]] || refuse 'has a wrong value; want true or false' images
# GITHUB_ACTION_PATH and not github.action_path, which in a job with a container is the path outside of it.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
system=${RUNNER_OS:-unknown}-${RUNNER_ARCH:-unknown}
platform=$(sed 's/^macOS-/darwin_/; s/^Linux-/linux_/; s/X64$/amd64/; s/ARM64$/arm64/' <<< "$system")
pin() { sed -n "s/  \($1\)$/ \1/p" setup/pins; } # digest and name of a file whose name has the form
release=$(sed -n '/^v/p' setup/pins)
read -r binary_sha256 binary <<< "$(pin "matrix_.*_$platform")"
read -r archive_sha256 archive <<< "$(pin "stack_.*_$platform\.tar\.zst")"
if [[ $VERSION == source ]]; then
  release=''
elif [[ -n $VERSION && -z $release ]]; then
  refuse "is $VERSION, but this action is used from a branch or a commit, where it has the digests of no release. Write uses: nvidia/aicr-action@$VERSION, or leave the input empty to build from source"
elif [[ -n $VERSION && $VERSION != "$release" ]]; then
  refuse "is $VERSION, but this action is $release and has the digests of that release only. Write uses: nvidia/aicr-action@$VERSION, or leave the input empty"
elif [[ -n $release && (-z $binary || -z $archive) ]]; then
  refuse "has to be source on $system, for which release $release has no files. Write version: source, and it is built"
fi
# hashFiles sees only the workspace, and this action may be elsewhere. No git: the checkout may be of another user, or the image have none.
# Of the source, every file counts that goes into the program: a binary of another source would be a wrong result.
if [[ -n $release ]]; then
  key=aicr-action-$release-$platform-${binary_sha256:0:16}
  [[ $STACK == false ]] || key+=-${archive_sha256:0:16} # an entry of the cache is never added to
else
  sources=()
  while IFS= read -r file; do
    sources+=("$file")
  done < <(find charts cmd internal kwok recipes docs/failures.md embed.go go.mod go.sum .settings.yaml -type f ! -name '*_test.go' ! -path '*/testdata/*' | LC_ALL=C sort)
  key=aicr-action-$system-$(digest "${sources[@]}" | digest - | cut -c 1-40)
fi
printf '%s\n' "version=$release" "key=$key" "binary=$binary" "binary-sha256=$binary_sha256" "archive=$archive" "archive-sha256=$archive_sha256" \
  "images=$IMAGES" "scripts=$PWD/setup" "go=$(sed -n 's/^go //p' kwok/stack/go.mod)" >> "$GITHUB_OUTPUT"
[[ $STACK == false ]] || echo "stack=$(digest kwok/stack/go.mod kwok/stack/go.sum | digest - | cut -c 1-40)" >> "$GITHUB_OUTPUT"
KEY=$key RELEASE=$release bash setup/place.sh
