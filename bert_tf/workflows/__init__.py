"""The stories: one module a workflow, each with run(config) -> results."""
