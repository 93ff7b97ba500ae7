"""Client of the resident server, and the lookup of the user who owns a connection."""
