"""The tools. A tool's id is its path here: `agent_q/get_file_info.py` is agent-q/get_file_info."""
