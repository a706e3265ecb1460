"""Sleep past the limit: hold a session for ever."""
# limits: wall

import time
time.sleep(3600)
