"""Says hello. Parameters come as one JSON object on standard input, and as KIWI_PARAM_* variables."""

import json
import sys

parameters = json.load(sys.stdin)
print(f"Hello, {parameters['name']}!")
