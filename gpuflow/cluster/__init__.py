"""Where it runs: mesh of ranks, fabric of links, cost of computing."""
