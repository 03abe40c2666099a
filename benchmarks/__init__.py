"""Speed, memory and correctness of recolorist beside its peers. Rules: README.md; command: `python -m benchmarks.run`."""
