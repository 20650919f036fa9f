"""The forms that freeze a report."""

from django import forms

from backend.rankings.services.reports import MOST_NOTE, MOST_TITLE, TOP
from backend.web.shared.forms import WriteForm, text
from backend.web.shared.language import lazy


class ReportForm(WriteForm):
    """Title and the words of the decision."""

    title = text(lazy("Title"), maxlength=MOST_TITLE, placeholder=lazy("Web servers for 2027"))
    note = forms.CharField(
        label=lazy("What was decided, and why"),
        required=False,
        max_length=MOST_NOTE,
        widget=forms.Textarea(attrs={"rows": 6}),
    )


class RankingReportForm(ReportForm):
    """As a ranking is long, how many rows of it come first."""

    top = forms.TypedChoiceField(
        label=lazy("Offers on the first page"),
        required=False,
        coerce=int,
        initial=TOP,
        # At most fifteen: with sentence, picture and sources that is one sheet of paper.
        choices=[(count, str(count)) for count in (3, 5, TOP, 15)],
        help_text=lazy("The others stay one click away; the PDF has these alone."),
    )

    def clean_top(self) -> int:
        """The number chosen; a form without the field means the usual one."""
        return self.cleaned_data["top"] or TOP
