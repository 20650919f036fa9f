"""Pages as a browser shows them: any run of white space is one blank."""

from django.http import HttpResponse


def shown(response: HttpResponse) -> str:
    return " ".join(response.content.decode().split())
