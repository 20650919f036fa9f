"""How messages travel: the broker, the queues, and what is sent when. Ids only; PostgreSQL holds the truth
(docs/architecture.md)."""

from typing import Any

from django.conf import settings

# Far above task_time_limit: Redis hands a message that is longer unacknowledged to a second worker.
# kombu reads it from three different places, hence three lines of it below.
VISIBILITY_TIMEOUT_S = 3600
# In which the broker connects, and answers; a worker that waits for a message waits on.
BROKER_S = 5

CONFIGURATION: dict[str, Any] = {
    "broker_url": settings.REDIS_URL,
    # What came of a step stands in its row; nobody waits for the answer of a task.
    "result_backend": None,
    "task_ignore_result": True,
    "accept_content": ["json"],
    "task_serializer": "json",
    # Early: a lost message is made good by the next tick, whereas a late one would do a step twice.
    "task_acks_late": False,
    # A message that waits behind a long step in one worker could be done by another meanwhile.
    "worker_prefetch_multiplier": 1,
    "worker_disable_prefetch": True,
    "worker_max_tasks_per_child": 200,
    # The formatter of our own LOGGING masks keys; Celery's would print them.
    "worker_hijack_root_logger": False,
    # Below the usual LEASE_S, so that a step that hangs has ended before another worker may claim it.
    "task_soft_time_limit": 100,
    "task_time_limit": 120,
    "broker_connection_retry_on_startup": True,
    # Redis may be away for as long as it likes; `pump` goes on without it.
    "broker_connection_max_retries": None,
    "broker_transport_options": {
        "visibility_timeout": VISIBILITY_TIMEOUT_S,
        # A broker whose machine lost power refuses nothing, and kombu tries again as long as it is not refused:
        # a page that sent a message waited for minutes.
        "socket_connect_timeout": BROKER_S,
        "socket_timeout": BROKER_S,
    },
    "result_backend_transport_options": {"visibility_timeout": VISIBILITY_TIMEOUT_S},
    "visibility_timeout": VISIBILITY_TIMEOUT_S,
    "task_default_queue": "engine",
    "task_routes": {
        "workers.tick": {"queue": "engine"},
        "workers.run_step": {"queue": "engine"},
        "workers.poll_steps": {"queue": "poll"},
        # A receiver that does not answer holds up no step.
        "workers.send_notices": {"queue": "notify"},
        "workers.check_account": {"queue": "reap"},
        "workers.reap": {"queue": "reap"},
        "workers.fetch_prices": {"queue": "price"},
        "workers.retention": {"queue": "price"},
        # Minutes long, as price lists are.
        "workers.read_bills": {"queue": "price"},
        # Seconds each and hundreds of them: neither runs nor price lists wait behind them.
        "workers.simulate_job": {"queue": "simulate"},
    },
    "beat_schedule": {
        # Expires: ticks that pile up while no worker listens are worth nothing later.
        "tick": {
            "task": "workers.tick",
            "schedule": settings.TICK_S,
            "options": {"expires": 2 * settings.TICK_S},
        },
        "reap": {
            "task": "workers.reap",
            "schedule": settings.REAP_S,
            "options": {"expires": settings.REAP_S},
        },
        "fetch_prices": {
            "task": "workers.fetch_prices",
            "schedule": settings.FETCH_LOOK_S,
            "options": {"expires": settings.FETCH_LOOK_S},
        },
        "retention": {
            "task": "workers.retention",
            "schedule": 3600,
            "options": {"expires": 3600},
        },
    },
    "timezone": "UTC",
}
