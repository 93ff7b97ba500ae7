"""What is put before a model without being asked for: beside a message, and into a compaction.

``deciding`` says which memories, once for each message; ``block`` how they are worded. Nothing here knows of OpenCode's
hooks or of sockets; the bridge does.
"""
