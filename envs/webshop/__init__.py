"""Web shop environment: search and clicks, with WebShop's pages, goals, reward and ranking."""
