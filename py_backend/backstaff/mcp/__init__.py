"""MCP, the Model Context Protocol: lines of JSON-RPC over stdin and stdout. No tool here."""
