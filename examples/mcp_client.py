"""A memory over MCP, with the official Python client (pip install mcp).

    python3 examples/mcp_client.py            # starts `nacre mcp` itself
"""

import asyncio
import os

from mcp import Client, StdioServerParameters

SERVER = StdioServerParameters(command=os.environ.get("NACRE", "nacre"), args=["mcp"], env=dict(os.environ))


async def main():
    async with Client(SERVER) as client:
        tools = await client.list_tools()
        print("tools", ", ".join(tool.name for tool in tools.tools))
        # The text is for the model, the structure for your program.
        stored = await client.call_tool("memory_store", {"content": "The user prefers tabs", "type": "preference"})
        print("stored", stored.structured_content["id"])
        found = await client.call_tool("memory_search", {"query": "tabs or spaces?"})
        print("found", found.content[0].text)


asyncio.run(main())
