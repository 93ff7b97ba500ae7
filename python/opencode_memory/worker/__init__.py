"""Background worker process: computes embeddings, links similar memories, learns from sessions and runs maintenance."""
