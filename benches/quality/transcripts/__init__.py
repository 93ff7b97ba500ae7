"""Parts of ``benches.quality.real_sessions``: transcripts of people with coding agents, and judgements of memories."""
