"""Exports and imports: our own formats, and those of the systems that users come from."""

from opencode_memory.exchange.export import export_memories
from opencode_memory.exchange.formats import EXPORT_FORMATS, IMPORT_FORMATS
from opencode_memory.exchange.import_ import import_memories
from opencode_memory.exchange.results import ExportReport, ImportReport

__all__ = [
    "EXPORT_FORMATS",
    "IMPORT_FORMATS",
    "ExportReport",
    "ImportReport",
    "export_memories",
    "import_memories",
]
