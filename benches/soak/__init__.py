"""Long runs of tests: ``make soak``. Each part is a command of its own, and one report covers all parts."""
