"""Embedding with an ONNX model in a folder of the user; needs the extra ``onnx``.

``description`` reads what the folder says about its model, ``tokenization`` and ``padding`` make batches, ``session``
runs them with ``onnx``, ``embedder`` is the ``Embedder``.
"""
