"""What the database says at each commit, so that a test can strike at that very moment."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

CHANNEL = "chaos"
TRIGGERS = """
CREATE FUNCTION chaos_tell() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE told json;
BEGIN
    IF TG_TABLE_NAME = 'benchmarks_step' THEN
        told := json_build_object('run', NEW.run_id, 'step', NEW.id, 'token', NEW.lease_token);
    ELSE
        told := json_build_object('run', NEW.id, 'step', 0, 'token', 0);
    END IF;
    PERFORM pg_notify('chaos', (told::jsonb || jsonb_build_object(
        'state', NEW.state, 'at', extract(epoch FROM clock_timestamp())))::text);
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_tell AFTER INSERT OR UPDATE OF lease_token ON benchmarks_step
    FOR EACH ROW EXECUTE FUNCTION chaos_tell();
CREATE TRIGGER chaos_tell AFTER UPDATE OF state ON benchmarks_run
    FOR EACH ROW EXECUTE FUNCTION chaos_tell();
"""
NO_TRIGGERS = "DROP FUNCTION chaos_tell() CASCADE"


@dataclass(frozen=True)
class Change:
    """A run came into a state (step 0), or a step was made or claimed (its lease token)."""

    run: str
    state: str
    step: int
    token: int
    at: float
    """Seconds since 1970."""


class Watch:
    """Reads the changes; those of the past are remembered."""

    def __init__(self, connection: "psycopg.Connection[tuple[object, ...]]") -> None:
        self._connection = connection
        self.seen: list[Change] = []
        self._passed = 0

    def read(self, *, timeout_s: float = 0) -> list[Change]:
        """What is new, waiting for the first of it."""
        found = [
            Change(**json.loads(told.payload))
            for told in self._connection.notifies(timeout=timeout_s, stop_after=1)
        ]
        self.seen += found
        return found

    def until(self, is_it: Callable[[Change], bool], *, within_s: float) -> Change | None:
        """The next change of that kind after the one found last; None when none comes in time."""
        end = time.monotonic() + within_s
        while True:
            while self._passed < len(self.seen):
                self._passed += 1
                if is_it(self.seen[self._passed - 1]):
                    return self.seen[self._passed - 1]
            if (left_s := end - time.monotonic()) <= 0:
                return None
            self.read(timeout_s=left_s)

    def first_after(self, run: str, at: float) -> Change | None:
        """What happened first to a run after that time, as far as it was read."""
        return next((it for it in self.seen if it.run == run and it.at > at), None)


@contextmanager
def watching(url: str) -> Iterator[Watch]:
    """The changes of a database from now on."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(TRIGGERS)
        connection.execute(f"LISTEN {CHANNEL}")
        try:
            yield Watch(connection)
        finally:
            connection.execute(NO_TRIGGERS)
