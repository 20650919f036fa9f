import pytest

from backend.foundation.errors import InvalidValue
from backend.foundation.webhooks import Endpoint, endpoint, signature


def test_endpoint_is_taken_apart_when_it_is_public():
    assert endpoint("https://hooks.example/a/b?c=d", is_private_allowed=False) == Endpoint(
        "https", "hooks.example", 443, "/a/b?c=d"
    )
    assert endpoint("https://hooks.example:8443", is_private_allowed=False) == Endpoint(
        "https", "hooks.example", 8443, "/"
    )
    assert endpoint("https://[2606:4700::1111]/", is_private_allowed=False).host == (
        "2606:4700::1111"
    )


def test_endpoint_may_be_private_and_plain_when_that_is_allowed():
    assert endpoint("http://127.0.0.1:9000/x", is_private_allowed=True) == Endpoint(
        "http", "127.0.0.1", 9000, "/x"
    )


@pytest.mark.parametrize(
    "url",
    [
        "", "hooks.example", "http://hooks.example/", "ftp://hooks.example/", "https://", "https:///x",
        "https://user@hooks.example/", "https://user:pw@hooks.example/", "https://hooks.example/#x",
        "https://hooks.example:99999/", "https://hooks.example:0/", "https://hooks.example:x/",
        "https://127.0.0.1/", "https://10.0.0.1/", "https://169.254.169.254/", "https://[::1]/",
        "https://[::ffff:127.0.0.1]/", "https://[fd00:ec2::254]/", "https://2130706433/", "https://127.1/",
        "https://0x7f.1/", "https://a b/", "https://bücher.example/", "https://a\n.example/", "https://[::1/",
        "https://hooks.example/" + "x" * 500, "https://localhost/x", "https://a.localhost./x",
    ],
)  # fmt: skip
def test_endpoint_is_refused_when_it_may_lead_elsewhere(url):
    with pytest.raises(InvalidValue) as raised:
        endpoint(url, is_private_allowed=False, field="/address")
    assert raised.value.field == "/address"


def test_signature_is_the_hmac_of_time_and_body():
    # printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac topsecret
    assert signature(b"topsecret", b'{"a":1}', 1_700_000_000) == (
        "t=1700000000,v1=6a939b0c71853d606167625a15168ee9188c6a511c773ef4f42d307f3849e50f"
    )
