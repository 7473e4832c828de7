"""Speed and quality, each figure beside a peer in one run; see docs/benchmarks.md."""
