"""What embeds, links and cleans up behind everybody's back, in a process of its own."""
