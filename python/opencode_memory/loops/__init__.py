"""Loops: an approved plan is coded, checked and audited in turns, until facts say that it is done.

``model`` has the data, ``transition`` the rules, ``records`` keeps loops in the store, ``steps`` carries out one step,
``runner`` carries out the steps of one loop, and ``keeper`` runs the loops of a server.
"""
