"""Task families of the web shop, as environments ``webshop/NAME``."""
