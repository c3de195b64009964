#!/usr/bin/env bash
# Says hello. Parameters come as KIWI_PARAM_* variables, and as one JSON object on standard input.
set -euo pipefail
printf 'Hello, %s!\n' "$KIWI_PARAM_NAME"
