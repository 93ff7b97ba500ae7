"""Maintenance of a store: ageing, consolidation, and checks of recall."""
