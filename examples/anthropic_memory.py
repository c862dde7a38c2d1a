"""Claude's memory tool over Nacre, with Anthropic's own Python package.

    pip install anthropic
    nacre serve --compat memory-tool &
    export NACRE_TOKEN=$(nacre token add claude) ANTHROPIC_API_KEY=...
    python examples/anthropic_memory.py "Remember that I take my tea without milk"
"""

import json
import os
import sys
import urllib.request

from anthropic import Anthropic
from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError

URL = os.environ.get("NACRE_URL", "http://127.0.0.1:7717")


class NacreMemory(BetaAbstractMemoryTool):
    """Gives every command to Nacre as it is, and the model what Nacre says."""

    def __init__(self, url=URL, token=None):
        super().__init__()
        self.url, self.token = url, token or os.environ["NACRE_TOKEN"]

    def call(self, input):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/v1/memory-tool", json.dumps(input).encode(), headers)
        with urllib.request.urlopen(request) as answer:
            told = json.load(answer)
        if told["is_error"]:
            raise ToolError(told["content"])
        return told["content"]

    # All of them go the same way; the package wants each by its name.
    def view(self, command):
        return self.call(command.to_dict())

    create = str_replace = insert = delete = rename = view


def main():
    runner = Anthropic().beta.messages.tool_runner(
        model=os.environ.get("MODEL", "claude-sonnet-4-5"),
        max_tokens=2000,
        tools=[NacreMemory()],
        messages=[{"role": "user", "content": " ".join(sys.argv[1:])}],
    )
    for block in runner.until_done().content:
        print(getattr(block, "text", ""))


if __name__ == "__main__":
    main()
