"""WebShop: shopping by search and clicks, with the original's pages, goals, reward and ranking."""
