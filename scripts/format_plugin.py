"""Format the TypeScript of the plugin, and print the findings of its linter."""

from __future__ import annotations

import subprocess
import sys

from install_third_party import PLUGIN_LOCKED, ROOT, InstallError, install_plugin_tools

SOURCE = ROOT / "python" / "opencode_memory" / "hosts" / "opencode" / "plugin"


def main() -> int:
    """Format and lint the plugin. Return the exit code of the linter."""
    try:
        tools = install_plugin_tools()
    except InstallError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    biome = tools / "node_modules" / ".bin" / "biome"
    command = [str(biome), "check", "--write", f"--config-path={PLUGIN_LOCKED}", str(SOURCE)]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
