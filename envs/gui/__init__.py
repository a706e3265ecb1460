"""Work in a browser: small web applications over one office (`apps`), and tasks in them with oracles (`tasks`)."""
