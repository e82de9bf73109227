#!/usr/bin/env bash
# The images of Kind clusters, in one file for each list of them: "list" names the file and its key in the cache, "save" writes the file.
# What fails here fails no step: the run comes to the same, says what is wrong, and ends with its code.
set -euo pipefail
case $1 in
  list)
    if [[ -n ${AICR_ACTION_KIND_IMAGES:-} ]]; then
      echo "AICR_ACTION_KIND_IMAGES is set, so that the images are in $AICR_ACTION_KIND_IMAGES. They are not cached."
      exit 0
    fi
    # Those of all deployers, whatever the input is: jobs with different lanes share one file.
    if ! images=$("$BIN" images list); then
      echo 'The list of images could not be made, so that they are not cached.'
      exit 0
    fi
    echo "$images"
    if command -v sha256sum > /dev/null; then key=$(sha256sum <<< "$images"); else key=$(shasum -a 256 <<< "$images"); fi
    directory=$(dirname "$(dirname "$BIN")")/images # below what this job made (place.sh), where nothing of an earlier one is
    mkdir -p "$directory"
    {
      echo "key=aicr-action-images-${RUNNER_OS:-unknown}-${RUNNER_ARCH:-unknown}-${key:0:40}"
      echo "directory=$directory"
      echo "file=$directory/images.tar"
    } >> "$GITHUB_OUTPUT"
    ;;
  save)
    if "$BIN" images save "$FILE"; then
      echo saved=true >> "$GITHUB_OUTPUT"
    else
      rm -f "$FILE"
      echo 'The images could not be saved, so that they are not cached. The run gets them itself, or says why it cannot.'
    fi
    ;;
esac
