"""`manage.py user create|link|enable|list`: people, and links that sign them in once."""

import json
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import reverse

from backend.accounts.models import ROLES, User
from backend.accounts.services.people import (
    COMMAND,
    sign_in_link_create,
    user_create,
    user_switch,
)
from backend.accounts.services.workspaces import home_workspace
from backend.foundation.errors import InvalidValue


class Command(BaseCommand):
    help = (
        "Make a person and print a link that signs in once, print another link, enable a person"
        " again, or list people."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="make a person and print the first link")
        create.add_argument("name")
        create.add_argument("--role", choices=ROLES, default="viewer")
        create.add_argument(
            "--if-nobody", action="store_true", help="do nothing when a person exists"
        )
        link = actions.add_parser("link", help="print another link; the one before ends")
        link.add_argument("name")
        enable = actions.add_parser("enable", help="let a disabled person sign in again")
        enable.add_argument("name")
        people = actions.add_parser("list", help="everybody, with role and last visit")
        for action in (create, link, people):
            action.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["action"] == "list":
            self._list(is_json=options["json"])
        elif not (options.get("if_nobody") and User.objects.exists()):
            try:
                if options["action"] == "enable":
                    self._enable(_person(options))
                else:
                    self._link(_person(options), is_json=options["json"])
            except InvalidValue as error:
                raise CommandError(f"{options['name']!r}: {error.detail}") from error

    def _link(self, user: User, *, is_json: bool) -> None:
        link, secret = sign_in_link_create(user=user)
        url = settings.PUBLIC_URL.rstrip("/") + reverse("sign-in-link", args=[secret])
        if is_json:
            document = {
                "login_url": url,
                "name": user.username,
                "role": _role(user),
                "expires_at": link.expires_at.isoformat(),
            }
            self.stdout.write(json.dumps(document))
            return
        self.stdout.write(
            f"{user.username} ({_role(user)}) signs in once, until {link.expires_at:%Y-%m-%d %H:%M}"
            f" UTC, at\n  {url}"
        )

    def _enable(self, user: User) -> None:
        user_switch(user=user, is_active=True, workspace=home_workspace(user), actor=COMMAND)
        self.stdout.write(f"{user.username} ({_role(user)}) may sign in.")

    def _list(self, *, is_json: bool) -> None:
        people = User.objects.order_by("username")
        if is_json:
            self.stdout.write(json.dumps({"users": [_entry(user) for user in people]}))
            return
        for user in people:
            visit = f"{user.last_login:%Y-%m-%d}" if user.last_login else "never"
            state = "" if user.is_active else ", not active"
            self.stdout.write(f"{user.username}: {_role(user)}, last signed in: {visit}{state}")


def _person(options: dict[str, Any]) -> User:
    name = options["name"]
    if options["action"] == "create":
        return user_create(name=name, scope=ROLES[options["role"]])
    user = User.objects.filter(username=name).first()
    if user is None:
        raise InvalidValue("/name", "nobody has this name; `user list` shows everybody")
    return user


def _role(user: User) -> str:
    # By the scope and not by the stored role: a superuser is an admin whatever the row says.
    return next(role for role, scope in ROLES.items() if scope is user.scope)


def _entry(user: User) -> dict[str, object]:
    return {
        "name": user.username,
        "role": _role(user),
        "is_active": user.is_active,
        "last_login": user.last_login.isoformat() if user.last_login else None,
    }
