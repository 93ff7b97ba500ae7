"""Client of HTTP servers outside of this program: addresses, requests, and when to try again."""
