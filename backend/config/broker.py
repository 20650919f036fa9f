"""`python -m backend.config.broker`: ends with 0 when the broker answers, for health checks.

Without Django's set-up, which takes a second of a core each time.
"""

import sys

from redis import Redis
from redis.exceptions import RedisError

from backend.config import environment as env

TIMEOUT_S = 4


def main() -> int:
    """0, or 1 with the reason on stderr."""
    url = env.broker("REDIS_URL", password=env.text("REDIS_PASSWORD", ""))
    client = Redis.from_url(url, socket_connect_timeout=TIMEOUT_S, socket_timeout=TIMEOUT_S)
    try:
        client.ping()
    except RedisError as error:
        # Its text may hold the address, and that the password.
        print(f"the broker does not answer: {type(error).__name__}", file=sys.stderr)
        return 1
    finally:
        client.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
