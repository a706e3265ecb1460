"""What `cairn doctor` looks at: one file for each kind of thing; nothing is changed and no server is asked."""
