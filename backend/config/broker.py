"""`python -m backend.config.broker`: ends with 0 when the broker answers, for health checks.

Without Django's set-up, which takes a second of a core each time.
"""

import sys

from redis import Redis
from redis.exceptions import RedisError

from backend.config import environment as env

TIMEOUT_S = 4


def fault() -> str:
    """Why the broker is not well; empty when it answers."""
    url = env.broker("REDIS_URL", password=env.text("REDIS_PASSWORD", ""))
    client = Redis.from_url(url, socket_connect_timeout=TIMEOUT_S, socket_timeout=TIMEOUT_S)
    try:
        client.ping()
    except RedisError as error:
        # Its text may hold the address, and that the password.
        return f"the broker does not answer: {type(error).__name__}"
    finally:
        client.close()
    return ""


if __name__ == "__main__":
    sys.exit(fault() or 0)
