"""A bank: accounts, standing orders, interest and statements."""
