"""The stories: one module a workflow, each with run(config) -> results; and what several of them share (see README, The files)."""
