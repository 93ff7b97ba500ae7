"""Keeping a store in good order: ageing, consolidation, and checks of recall."""
