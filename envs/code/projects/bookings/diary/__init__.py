"""A diary of rooms: times, spans, and bookings that do not collide."""
