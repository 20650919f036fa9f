"""How full servers may be when an answer must come in time: the queue M/M/c.

Requests arrive at random, servers take them from one queue, and work takes an exponential time.
It is a model: real work varies less or more, and then waits less or more.
"""

import math

from backend.foundation.errors import InvalidValue

MOST_SERVERS = 100_000


def wait_probability(servers: int, load: float) -> float:
    """Erlang C: the share of requests that wait, for an offered load in servers' worth of work.

    By the recursion of Erlang B, which never overflows. 1 where the load is not below the servers.
    """
    if servers < 1 or servers > MOST_SERVERS:
        raise InvalidValue("/servers", f"{servers} is not from 1 to {MOST_SERVERS}")
    if not 0 <= load < math.inf:
        raise InvalidValue("/load", f"{load} is not a number from 0 on")
    if load >= servers:
        return 1.0
    blocked = 1.0
    for count in range(1, servers + 1):
        blocked = load * blocked / (count + load * blocked)
    return servers * blocked / (servers - load * (1 - blocked))


def late_share(servers: int, load: float, service_s: float, limit_s: float) -> float:
    """Share of requests that wait longer than the limit before they are served."""
    if load >= servers:
        return 1.0
    return wait_probability(servers, load) * math.exp(-(servers - load) * limit_s / service_s)


def servers_in_time(load: float, service_s: float, limit_s: float, most_late: float) -> int:
    """Fewest servers at which at most a share of the requests waits longer than the limit."""
    if not 0 < most_late < 1:
        raise InvalidValue("/most_late", f"{most_late} is not between 0 and 1")
    if service_s <= 0 or limit_s < 0:
        raise InvalidValue("/service_s", "times are above 0, the limit from 0 on")
    count = math.floor(load) + 1
    while late_share(count, load, service_s, limit_s) > most_late:
        count += 1
    return count


def utilisation_in_time(
    servers: int, service_s: float, limit_s: float, most_late: float, *, precision: float = 1e-9
) -> float:
    """The highest utilisation of so many servers at which requests are still in time."""
    low, high = 0.0, 1.0
    while high - low > precision:
        middle = (low + high) / 2
        if late_share(servers, middle * servers, service_s, limit_s) <= most_late:
            low = middle
        else:
            high = middle
    return low
