"""Pages of the resident server for the user: what is remembered, why, and buttons to change it.

The server renders HTML. The forms work without JavaScript; the script only adds keys. Nothing is loaded from elsewhere.
"""

from typing import Final

ROOT: Final = "/ui"
"""Path of the pages."""
