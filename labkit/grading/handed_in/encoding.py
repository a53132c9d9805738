"""Bytes as text, whoever saved them."""

import json


def decode(data: bytes) -> tuple[str, str]:
    """The text, and the encoding that fitted: UTF-8, -16 or -32, else what Windows uses; nothing is refused."""
    for encoding in (json.detect_encoding(data), "cp1252"):
        try:
            return data.decode(encoding), encoding
        except UnicodeDecodeError:
            pass
    return data.decode("latin-1"), "latin-1"
