"""Embedding with an ONNX model in a folder of the user.

``description`` reads what the folder says about its model, ``session`` runs it, ``embedder`` is the ``Embedder``.
"""
