#!/usr/bin/env bash
# Makes the directories of matrix (files) and of the stack (cache), which nothing may be in that an earlier job left on the machine. KEY is the name of the
# first, RELEASE the version or empty. It writes outputs of the step; keep is where files of a release stay for later jobs, and is empty for nowhere.
set -euo pipefail
home=$RUNNER_TEMP/aicr-action
# The runner empties RUNNER_TEMP before each job, except for what its user may not delete: a job in a container is root, and what it leaves is as it was.
# A second use in one job finds what the first one made. That it is of this job is in the job's environment, into which no other job can write.
if [[ ${AICR_ACTION_HOME:-} != "$home" ]]; then
  if ! rm -rf "$home" || ! mkdir "$home"; then
    echo "::error title=Left by an earlier job::$home on this runner was left by an earlier job and cannot be removed, so that nothing in it can be trusted. Remove it as root."
    exit 1
  fi
  echo "AICR_ACTION_HOME=$home" >> "$GITHUB_ENV"
fi
cache=$home/cache keep=''
if [[ -n ${AICR_ACTION_CACHE:-} && $AICR_ACTION_CACHE != "$cache" ]]; then
  if [[ ${AICR_ACTION_CACHE_TRUSTED:-} == true ]]; then
    cache=$AICR_ACTION_CACHE
  elif [[ -n $RELEASE ]]; then
    keep=$AICR_ACTION_CACHE/releases # each file is copied, and the copy compared with its digest
  else
    echo "::notice title=AICR_ACTION_CACHE::The stack in AICR_ACTION_CACHE is not used: an earlier job can have written it, and a stack that is built from source has no digest to compare it with. If every job on this runner is trusted, set AICR_ACTION_CACHE_TRUSTED to true."
  fi
fi
mkdir -p "$home/$KEY"
printf '%s\n' "files=$home/$KEY" "bin=$home/$KEY/matrix" "cache=$cache" "keep=$keep" >> "$GITHUB_OUTPUT"
