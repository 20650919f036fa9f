"""The form that freezes a ranking as a report."""

from django import forms

from backend.rankings.services.reports import MOST_NOTE, MOST_TITLE
from backend.web.shared.forms import WriteForm, text


class ReportForm(WriteForm):
    """Title and the words of the decision."""

    title = text("Title", maxlength=MOST_TITLE, placeholder="Web servers for 2027")
    note = forms.CharField(
        label="What was decided, and why",
        required=False,
        max_length=MOST_NOTE,
        widget=forms.Textarea(attrs={"rows": 6}),
    )
