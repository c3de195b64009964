"""Makes a virtual environment and installs packages into it, with the pip of the interpreter where that has one: to give
each environment a pip of its own takes seconds.

build.py create ENVIRONMENT
build.py pip ENVIRONMENT ARGUMENTS...
"""
import os, sys, venv


def is_shared():
    """Whether pip is there, and can install elsewhere."""
    try:
        import pip
        return tuple(int(part) for part in pip.__version__.split('.')[:2]) >= (22, 3)
    except (ImportError, ValueError):
        return False


def main():
    action, environment, *arguments = sys.argv[1:]
    if action == 'create':
        venv.create(environment, symlinks=True, with_pip=not is_shared())
        return
    python = os.path.join(environment, 'bin', 'python')
    shared = [sys.executable, '-m', 'pip', '--python', python]
    command = (shared if is_shared() else [python, '-m', 'pip']) + arguments
    os.execv(command[0], command)


main()
