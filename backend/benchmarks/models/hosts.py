"""Machines that can be logged in to."""

from django.db import models

from backend.accounts.models import Workspace
from backend.catalog.models import Offer
from backend.core.models import Identified, Remembering


class HostState(models.TextChoices):
    UNVERIFIED = "unverified"
    TRUSTED = "trusted"
    KEY_CHANGED = "key_changed"
    GONE = "gone"
    """A rented machine that is no more, or a host that was removed; its key is destroyed."""


class Worker(models.Model):
    """A machine that workers run on, by its WORKER_ID: all of them share its files and processes."""

    id = models.CharField(max_length=64, primary_key=True)
    instance = models.CharField(max_length=200, blank=True)
    """The boot and container that has the id now (workers.engine.presence); others are kept off."""
    seen_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return self.id


class Drain(models.Model):
    """No run begins on this worker's machine; without a worker, none at all."""

    worker = models.OneToOneField(Worker, on_delete=models.CASCADE, null=True, related_name="drain")
    since = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("since",)

    def __str__(self) -> str:
        return self.worker_id or "everything"


class LoginKey(Identified):
    """The key pair by which Rackrate logs in to those hosts of a workspace that were given none."""

    workspace = models.OneToOneField(Workspace, on_delete=models.PROTECT, related_name="login_key")
    public_key = models.TextField()
    """The line for authorized_keys."""
    sealed_private_key = models.BinaryField(editable=False)
    earlier_public_key = models.TextField(blank=True)
    """Public half of the earlier pair, which also logs in until a person drops it; "" for none."""
    sealed_earlier_key = models.BinaryField(null=True, editable=False)

    def __str__(self) -> str:
        return self.public_key


class HostAuthority(Identified):
    """A key that signs the host keys of a workspace's hosts, or one that counts no more."""

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="host_authorities"
    )
    patterns = models.TextField()
    """The names that it may sign for, as in known_hosts: `*.example.org,!db.*`."""
    public_key = models.TextField()
    # Also a host's own key may be revoked: whoever has it may have stolen it.
    is_revoked = models.BooleanField(default=False)

    class Meta:
        ordering = ("created_at",)
        constraints = [
            models.UniqueConstraint(
                fields=("workspace", "public_key"), name="host_authority_once_a_workspace"
            )
        ]

    def __str__(self) -> str:
        return f"{self.patterns} {self.public_key}"


class Host(Remembering, Identified):
    """Something we can log in to: an instance of one offer."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="hosts")
    # Results count for the offer, so a machine that is like no other needs one of its own.
    offer = models.ForeignKey(Offer, on_delete=models.PROTECT, related_name="hosts")
    name = models.CharField(max_length=100)
    driver = models.CharField(max_length=20)
    """Slug in workers.remote.registry: `local` or `static`."""
    # The machine that a `local` host is, or that has the agent which logs in: only workers there can
    # do its runs. None for all others.
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, null=True, related_name="hosts")
    is_rented = models.BooleanField(default=False)
    """Started for one run and ended with it."""
    address = models.CharField(max_length=255, blank=True)
    port = models.PositiveIntegerField(default=22)
    username = models.CharField(max_length=64, blank=True)
    bastion = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, related_name="hosts_behind"
    )
    """Another host that is logged in to first, and connects to this one (ssh's ProxyJump)."""
    sealed_private_key = models.BinaryField(null=True, editable=False)
    """None: it is logged in to with the workspace's LoginKey."""
    certificate = models.TextField(blank=True)
    """A certificate of the key, where the host trusts an authority instead of keys."""
    agent_socket = models.CharField(max_length=255, blank=True, default="", db_default="")
    """Socket of the SSH agent that logs in, on the machine of `worker`; "" for none of its own."""
    # Others need it: all its runs are careful.
    is_in_production = models.BooleanField(default=False)
    tags = models.JSONField(default=list)
    state = models.CharField(max_length=12, choices=HostState, default=HostState.UNVERIFIED)
    host_key = models.TextField(blank=True)
    """The pinned public key in OpenSSH form; empty until a person approves one, or an authority has
    signed it."""
    # Its key is trusted for as long as an authority's certificate of it is valid.
    authority = models.ForeignKey(
        HostAuthority, on_delete=models.SET_NULL, null=True, related_name="hosts"
    )
    certificate_refusal = models.TextField(blank=True)
    """Why the certificate that it showed last was not taken."""
    scanned_key = models.TextField(blank=True)
    scanned_at = models.DateTimeField(null=True)
    scan_requested_at = models.DateTimeField(null=True)
    scan_error = models.TextField(blank=True)
    facts = models.JSONField(default=dict)
    """Facts that the inventory probe found last (measure.readers.inventory.HostFacts)."""

    class Meta:
        ordering = ("name",)
        constraints = [
            models.UniqueConstraint(fields=("workspace", "name"), name="host_name_once_a_workspace")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def route(self) -> "list[Host]":
        """This host, its bastion, and so on: the machines that are logged in to."""
        machines = [self]
        while (bastion := machines[-1].bastion) is not None:
            machines.append(bastion)
        return machines

    @property
    def is_removed(self) -> bool:
        """True if a person removed it; its row stays for its runs."""
        return self.state == HostState.GONE and not self.is_rented
