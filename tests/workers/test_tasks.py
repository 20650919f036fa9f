"""The Celery tasks: every name that is sent exists, and each does its part."""

import gc

import pytest
from celery.signals import worker_before_create_process

from backend.benchmarks.models import RunState, Tick
from backend.config.celery import app
from backend.core.queue import Task
from tests.workers.conftest import tiny_run
from workers import tasks

pytestmark = pytest.mark.django_db(transaction=True)


def test_every_task_that_is_sent_exists():
    assert {task.value for task in Task} <= set(app.tasks)


def test_child_looks_for_no_garbage_in_what_it_shares():
    shared = gc.get_freeze_count()
    imported = [[] for _ in range(1000)]
    worker_before_create_process.send(sender=None)
    assert gc.get_freeze_count() >= shared + len(imported)


def test_tasks_carry_ids_only_and_take_a_run_to_its_end(ssh_host, queued):
    run = tiny_run(ssh_host)
    sent = []
    while queued:
        name, arguments = queued.pop(0)
        sent.append((name, sorted(arguments)))
        app.tasks[name](**arguments)
    run.refresh_from_db()
    assert (run.state, run.failure_detail) == (RunState.DONE, "")
    step = ("workers.run_step", ["step_id", "token"])
    assert sent == [("workers.tick", []), *[step] * 3, ("workers.poll_steps", []), *[step] * 4]
    assert Tick.objects.count() == 1


def test_scan_task_records_the_key(ssh_host, sshd):
    tasks.scan_host(str(ssh_host.pk))
    ssh_host.refresh_from_db()
    assert ssh_host.scanned_key == sshd.host_key
