import re
import pytest
from pathlib import Path
pytestmark = pytest.mark.django_db
def test_probe(client, market):
    for url in ("/?metric=cmips_score&period=month&hours_per_month=720&available=FALSE","/offers/?metric=cmips_score&period=month&hours_per_month=720&available=FALSE",
      "/?metric=passmark_score&term=purchase&available=FALSE","/offers/?metric=passmark_score&term=purchase&available=FALSE","/?metric=cmips_score&hours_per_month=720&available=FALSE", "/offers/?metric=cmips_score&hours_per_month=720&available=FALSE"):
        r=client.get(url)
        t=re.sub(r"<[^>]+>"," ",r.content.decode())
        t=" ".join(t.split())
        print(url,r.status_code,len(t),"1,180" in t,"1,425" in t, "Ignored" in t, t[t.find("Ignored"):][:100])
        i=t.find("m2.4xlarge"); print(t[i-300:i+500])
    rows=[l for l in Path("docs/articles.md").read_text().split("\n") if re.match(r"\| [0-9]",l)]
    import itertools
    us=sorted({u.split("#")[0] for l in rows for u in re.findall(r"`(/[^`]*)`",l)})
    for u in us: print(u, client.get(u).status_code)
