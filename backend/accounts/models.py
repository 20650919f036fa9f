"""Workspaces, people, API tokens and the audit trail."""

import time
import uuid
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth.models import AbstractUser, UserManager
from django.contrib.auth.password_validation import validate_password
from django.db import models
from django.utils.functional import cached_property
from django_otp.models import Device, ThrottlingMixin
from django_otp.oath import TOTP

from backend.core import clock
from backend.core.crypto import WEB, unseal
from backend.core.models import Identified, Remembering
from backend.core.sealing import identity_of
from backend.foundation.texts import text as _

if TYPE_CHECKING:
    PeopleBase = UserManager["User"]
else:
    # Generic for the type checker only.
    PeopleBase = UserManager


# How far from now a code of an authenticator may be, in steps of 30 s.
STEPS_APART = 1


class Workspace(Identified):
    """Owner of everything people create; the first is the default one, which owns what all share."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=100)

    def __str__(self) -> str:
        return self.name


class Installation(Identified):
    """A database at its site. A copy elsewhere is another one: its workers leave alone what this
    one has rented."""

    site = models.CharField(max_length=200)

    def __str__(self) -> str:
        return str(self.pk)


class Scope(models.TextChoices):
    """Permissions of a token or person; each includes those before it."""

    READ = "read", _("Viewer")
    WRITE = "write", _("Analyst")
    RUN = "run", _("Operator")
    ADMIN = "admin", _("Admin")

    def includes(self, needed: "Scope") -> bool:
        """True if this scope is at least the needed one."""
        # The order of definition is the order of rights: another scope is put where it belongs.
        order = list(Scope)
        return order.index(self) >= order.index(needed)

    @property
    def role(self) -> str:
        """Name of the role that has it."""
        return next(role for role, scope in ROLES.items() if scope is self)


ROLES = {
    "viewer": Scope.READ,
    "analyst": Scope.WRITE,
    "operator": Scope.RUN,
    "admin": Scope.ADMIN,
}


class People(PeopleBase):
    """Makes people; those with a password by the rules for passwords, also from the command line."""

    def create_superuser(
        self, username: str, email: str | None = None, password: str | None = None, **extra: Any
    ) -> "User":
        if password is not None:
            validate_password(password, User(username=username, email=email or ""))
        return super().create_superuser(username, email, password, **extra)


class User(AbstractUser, Remembering):  # type: ignore[django-manager-missing]
    """A person, who has a role in each workspace that they are a member of.

    A superuser runs the installation and is an admin of every workspace.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    objects = People()  # type: ignore[misc]
    chosen_workspace = ""
    """Slug of the workspace that the session acts in; empty: the first one. Not stored."""

    @cached_property
    def membership(self) -> "Membership | None":
        """In the chosen workspace, else in the one joined first; None without any."""
        rows = self.memberships.select_related("workspace").order_by("created_at")
        memberships = {row.workspace.slug: row for row in rows}
        first = next(iter(memberships.values()), None)
        return memberships.get(self.chosen_workspace, first)

    @property
    def scope(self) -> Scope:
        """Rights of the person in the workspace that they act in."""
        # Who is no member of any workspace may not sign in (accounts.services.acting).
        scope = Scope.ADMIN if self.is_superuser else Scope(self._role)
        lacks_factor = settings.TOTP_FOR_ADMINS and not self.has_second_factor
        return Scope.RUN if scope is Scope.ADMIN and lacks_factor else scope

    @property
    def _role(self) -> str:
        return self.membership.role if self.membership else Scope.READ

    @cached_property
    def has_second_factor(self) -> bool:
        """True if signing in asks for a code as well."""
        return bool(Authenticator.objects.filter(user=self, confirmed=True).exists())


# django-otp has no types.
class Authenticator(Identified, ThrottlingMixin, Device):  # type: ignore[misc, django-manager-missing]
    """A person's source of time-based codes (TOTP); django-otp's own keeps its key as it is."""

    ring = WEB
    """Codes are checked by the web process."""
    sealed_key = models.BinaryField(editable=False)
    drift = models.SmallIntegerField(default=0)
    """Steps of 30 s by which its clock is known to differ from ours."""
    last_t = models.BigIntegerField(default=-1)
    """The step of the last code: each one works once."""

    def __str__(self) -> str:
        return f"authenticator of {self.user}"

    def key(self) -> bytes:
        """The key that makes the codes."""
        return unseal(bytes(self.sealed_key), identity=identity_of(self), ring=self.ring)

    def _codes(self) -> TOTP:
        codes = TOTP(self.key(), drift=self.drift)
        codes.time = time.time()
        return codes

    def verify_token(self, token: str) -> bool:
        """True if the code is that of now, or of the step before or after it, and was not used;
        after failures none is for a while. Called by django-otp with the row locked."""
        if not self.verify_is_allowed()[0]:
            return False
        # A recovery code is tried here, too: it has to let in also where the key is lost.
        codes = self._codes() if token.isdecimal() else None
        if codes is None or not codes.verify(int(token), STEPS_APART, self.last_t + 1):
            self.throttle_increment(commit=True)
            return False
        self.last_t, self.drift = codes.t(), codes.drift
        self.throttle_reset(commit=False)
        self.save()
        return True

    def get_throttle_factor(self) -> int:
        """Seconds of the first wait; each failure doubles it."""
        return 1


class Membership(Identified):
    """The role of a person in a workspace."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=8, choices=Scope, default=Scope.READ)

    class Meta:
        ordering = ("user__username",)
        constraints = [
            models.UniqueConstraint(fields=("workspace", "user"), name="member_once_a_workspace")
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.workspace}"


class SecretLink(Identified):
    """A link that works once: only an HMAC of the secret in its address is stored, and a used link
    is a deleted row."""

    digest = models.BinaryField(max_length=32, unique=True)
    expires_at = models.DateTimeField()

    class Meta:
        abstract = True


class Invitation(SecretLink):
    """An invitation to join a workspace, with a role."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=8, choices=Scope, default=Scope.READ)
    note = models.CharField(max_length=100, blank=True)
    """For whom it is, as the inviting admin wrote it."""
    invited_by = models.CharField(max_length=150)

    class Meta:
        ordering = ("expires_at",)

    def __str__(self) -> str:
        return f"invitation to {self.workspace}"


class SignInLink(SecretLink):
    """A link that signs a person in without a password; the newest one of the person."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="sign_in_link")

    def __str__(self) -> str:
        return f"link of {self.user}"


class ExternalIdentity(Identified):
    """Who a person is at a provider of single sign-on; nobody is found by an e-mail address."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="external_identities")
    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("issuer", "subject"), name="external_identity_once")
        ]

    def __str__(self) -> str:
        return f"{self.user} at {self.issuer}"


class AccessKey(Identified):
    """A text `<prefix><lookup><secret>` that lets in whoever knows it; only an HMAC of it is kept."""

    name = models.CharField(max_length=100)
    # The part that is no secret: it leads to the row whose digest is compared.
    lookup = models.CharField(max_length=8, unique=True)
    digest = models.BinaryField(max_length=32)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    @property
    def is_current(self) -> bool:
        """False once it is revoked or has expired."""
        return self.revoked_at is None and self.expires_at > clock.now()


class ApiToken(AccessKey):
    """A bearer token of the API."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="tokens")
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    """Who answers for it: it may no more than its owner may, and ends with them."""
    scope = models.CharField(max_length=8, choices=Scope)
    granted: Scope = Scope.READ
    """Effective scope: its own, but no more than its owner may. Set for whoever presents it."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=("workspace", "name"),
                condition=models.Q(revoked_at=None),
                name="token_name_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.scope})"


class KeptAnswer(Identified):
    """The answer to a request that came with an Idempotency-Key, for the same request again."""

    caller = models.CharField(max_length=50)
    """`token <id>` or `user <id>@<begin of the workspace's id>`; keys of different callers are different keys."""
    key = models.CharField(max_length=255)
    request_sha256 = models.BinaryField(max_length=32)
    """Digest of method, address and body."""
    status = models.PositiveSmallIntegerField(default=0)
    headers = models.JSONField(default=dict)
    ring = WEB
    """The web process gives the answer again."""
    sealed_body = models.BinaryField(null=True, editable=False)
    """Sealed, for the answer may show a token this once."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("caller", "key"), name="idempotency_key_once")
        ]
        indexes = [models.Index(fields=("created_at",), name="kept_answer_age")]

    def __str__(self) -> str:
        return f"{self.key} of {self.caller}"


class AccessKind(models.TextChoices):
    """How we prove to a cloud who we are, the preferred ways first."""

    WORKLOAD_IDENTITY = "workload_identity", _("identity of the worker's own machine")
    ASSUME_ROLE = "assume_role", _("role to assume, with an external id")
    TOKEN = "token", _("API token")
    STATIC_KEY = "static_key", _("static key")


class CloudAccount(Remembering, Identified):
    """Access to a cloud, with the limits of what may be rented there."""

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="cloud_accounts"
    )
    name = models.CharField(max_length=100)
    provider = models.CharField(max_length=50)
    """Slug of the driver, which is that of the provider in the catalog."""
    access = models.CharField(max_length=20, choices=AccessKind)
    settings = models.JSONField(default=dict)
    """Settings that are no secret: regions, role_arn, project, image, … (providers.accounts)."""
    sealed_secret = models.BinaryField(null=True, editable=False)
    """A JSON object of the secret fields; None where the access needs none."""
    secret_set_at = models.DateTimeField(null=True)
    is_enabled = models.BooleanField(default=True)
    max_machines = models.PositiveIntegerField(default=20)
    max_vcpus = models.PositiveIntegerField(null=True)
    """Limit on vCPUs of machines that exist at once; None = no limit but that of the provider."""
    budget_amount = models.DecimalField(max_digits=20, decimal_places=10, null=True)
    budget_currency = models.CharField(max_length=3, blank=True)
    """The most that a calendar month (UTC) may cost; None = no cap but those of the runs."""
    calls_left = models.FloatField(default=0)
    calls_at = models.DateTimeField(null=True)
    """The bucket of calls: how many were left when it was last looked at."""
    calls_ending_left = models.FloatField(default=0)
    calls_ending_at = models.DateTimeField(null=True)
    """The bucket of calls that end machines, which never wait behind others."""
    identity = models.CharField(max_length=300, blank=True)
    check_requested_at = models.DateTimeField(null=True)
    checked_at = models.DateTimeField(null=True)
    preflight = models.JSONField(default=list)
    """The last look at its regions: texts region, topic, state, detail and advice."""
    preflight_at = models.DateTimeField(null=True)
    check_error = models.TextField(blank=True)
    last_used_at = models.DateTimeField(null=True)
    looked_at = models.DateTimeField(null=True)
    """When a look at its machines was last tried, with whatever outcome."""
    reaped_at = models.DateTimeField(null=True)
    """When its machines, in every region, were last compared with ours."""
    reap_error = models.TextField(blank=True)
    """Why the newest look at its machines failed; empty when it did not."""
    failed_looks = models.PositiveIntegerField(default=0)
    """Failed looks in a row, up to now."""
    ending = models.JSONField(default=dict)
    """Machines that the reaper asked to go and that are still there, by id at the provider: since
    (first request), failed (calls), error, is_alarmed."""

    class Meta:
        ordering = ("created_at",)
        constraints = [
            models.UniqueConstraint(
                fields=("workspace", "name"), name="cloud_account_name_once_a_workspace"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def rents_machines(self) -> bool:
        """Else it only reads price lists."""
        return "regions" in self.settings


class AuditEntry(models.Model):
    """Who did what to which object, appended and never changed: triggers of the database see to it."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="audit")
    actor = models.CharField(max_length=150)
    action = models.CharField(max_length=50)
    # Words and not a relation: the entry outlives what it is about.
    object_type = models.CharField(max_length=50)
    object_id = models.CharField(max_length=100)
    detail = models.JSONField(default=dict)
    before = models.JSONField(default=dict)
    """Fields of the object that were changed, as they were; empty for what is new."""
    after = models.JSONField(default=dict)
    address = models.CharField(max_length=45, blank=True)
    """The caller's address; empty for commands and workers."""
    request_id = models.CharField(max_length=64, blank=True)
    """As in the log and in the answer's X-Request-ID."""

    class Meta:
        ordering = ("-at", "-id")
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.object_type} {self.object_id}"
