"""Plans jobs that need one another on a number of workers."""
