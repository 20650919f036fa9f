"""Secrets leave no trace in texts."""

import json

from backend.foundation.redaction import redact

KEY_FILE = {
    "type": "service_account",
    "private_key_id": "0123456789",
    "private_key": "-----BEGIN PRIVATE KEY-----\nabc\n",
}


def test_text_loses_every_value_of_the_secret_when_redacted():
    key_file = json.dumps(KEY_FILE)
    kept = {
        "service_account_json": key_file,
        "api_key": "AIzaExample",
        "number": "[1, 2]",
        "n": "1",
    }
    text = f"refused {key_file}: {KEY_FILE['private_key']} AIzaExampleX 1 [1, 2]"
    assert redact(text, kept) == "refused (secret): (secret) (secret)X 1 [1, 2]"
    assert redact("[" * 2000, {"token": "[" * 2000}) == "(secret)"
