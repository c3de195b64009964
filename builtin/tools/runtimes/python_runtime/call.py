"""Calls a function of a script with the parameters of the tool, and hands its result over.

The parameters come as one JSON object on standard input. A result that is not None is written behind a record
separator, as RFC 7464 has it, so that it can be told from whatever the script itself has printed.
"""

import asyncio
import importlib.util
import inspect
import io
import json
import os
import sys


def load(path):
    folder, name = os.path.split(path)
    sys.path[0] = folder
    sys.argv = [path]
    name = os.path.splitext(name)[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def find(module, wanted):
    for name in [wanted] if wanted else ["main", "run", "execute"]:
        if callable(getattr(module, name, None)):
            return getattr(module, name)
    sys.exit(f"{sys.argv[0]} has no function {wanted or 'main, run or execute'}")


def arguments(function, given):
    project = {"project_path": os.environ.get("KIWI_PROJECT_PATH")}
    try:
        declared = inspect.signature(function).parameters
    except ValueError:
        return given
    if not declared:
        return {}
    if "params" in declared and "params" not in given and set(declared) <= {"params", "project_path"}:
        given = {"params": given}
    return {**{name: value for name, value in project.items() if name in declared}, **given}


async def settled(value):
    return await value


def call(path, wanted):
    text = sys.stdin.read()
    # The script may want to read them by itself.
    sys.stdin = io.StringIO(text)
    function = find(load(path), wanted)
    result = function(**arguments(function, json.loads(text)))
    if inspect.isawaitable(result):
        result = asyncio.run(settled(result))
    if result is not None:
        sys.stdout.write("\x1e" + json.dumps(result, default=str) + "\n")


if __name__ == "__main__":
    call(*sys.argv[1:3])
