#!/usr/bin/env bash
# A commit of everything as it is, made from an index of its own.
set -euo pipefail

export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 GIT_NO_LAZY_FETCH=1
export GIT_AUTHOR_NAME=Kiwi GIT_AUTHOR_EMAIL=kiwi@localhost GIT_COMMITTER_NAME=Kiwi GIT_COMMITTER_EMAIL=kiwi@localhost

# A repository that begins above the project is not the project's.
GIT_CEILING_DIRECTORIES=$(dirname "$(pwd -P)")
export GIT_CEILING_DIRECTORIES

safe_git() {
  git --no-pager -c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.alternateRefsCommand=true \
    -c commit.gpgSign=false -c submodule.recurse=false -c diff.ignoreSubmodules=all -c gc.auto=0 \
    -c safe.bareRepository=explicit -c protocol.allow=never -c advice.addEmbeddedRepo=false "$@"
}

if ! safe_git rev-parse --git-dir >/dev/null 2>&1 && above=$(GIT_CEILING_DIRECTORIES='' safe_git rev-parse --show-toplevel 2>/dev/null); then
  echo "the repository begins above the project, in $above, and a checkpoint would record what is not the project's" >&2
  exit 1
fi

# Filters can be switched off only by their names, which the repository chooses; its files may not be elsewhere.
if found=$(git config --includes --name-only --get-regexp '^(filter\..*\.(clean|smudge|process)|core\.worktree|include(if)?\..*)$'); then
  echo "the config of the repository names programs, files or places that git would follow: ${found//$'\n'/, }" >&2
  exit 1
fi

top=$(safe_git rev-parse --show-toplevel)
cd "$top"

scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
index=$(safe_git rev-parse --git-path index)
# With its time: by it git knows which entries are too fresh to be judged without reading the files.
[ -f "$index" ] && cp -p "$index" "$scratch/index"
export GIT_INDEX_FILE=$scratch/index

head=$(safe_git rev-parse --verify --quiet HEAD || true)
# To add, git asks a submodule what is changed in it, and the config of the submodule then counts: they stay as they are.
paths=(.)
while IFS= read -r -d '' entry; do
  [[ $entry == 160000\ * ]] && paths+=(":(exclude,top,literal)${entry#*$'\t'}")
done < <(safe_git ls-files --stage -z)
safe_git add --all -- "${paths[@]}" >&2
tree=$(safe_git write-tree)
if [ -n "$head" ] && [ "$tree" = "$(safe_git rev-parse "$head^{tree}")" ]; then
  printf '{"recorded": false, "reason": "nothing differs from HEAD", "sha": null, "head": "%s"}\n' "$head"
  exit 0
fi

sha=$(safe_git commit-tree ${head:+-p "$head"} -m "$KIWI_PARAM_MESSAGE" "$tree")
series=refs/kiwi/checkpoints/$KIWI_PARAM_NAME
number=$(safe_git for-each-ref --format=x "$series/" | wc -l)
# Another checkpoint may be made at the same time: the next free number is taken, never one that is there.
for _ in 1 2 3 4 5 6 7 8 9 10; do
  number=$((number + 1))
  ref=$series/$number
  if safe_git update-ref "$ref" "$sha" '' 2>"$scratch/why"; then
    printf '{"recorded": true, "sha": "%s", "ref": "%s", "head": "%s"}\n' "$sha" "$ref" "$head"
    exit 0
  fi
done
cat "$scratch/why" >&2
exit 1
