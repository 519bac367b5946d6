"""MCP, the Model Context Protocol: JSON-RPC in lines of JSON, over stdin and stdout. No tool here."""
