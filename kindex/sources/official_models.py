"""The official client's models, whichever version of it is installed."""

from __future__ import annotations

import json
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from kubernetes import client

from kindex.errors import DecodeError

# Any, below: classes of the client, whose types differ from version to version.


def model_of(text: bytes, name: str) -> Any:  # noqa: ANN401 - see above
    """Make the client's model called *name* of an object's JSON.

    Raises:
        DecodeError: the client has no such model, or the model refuses the object.

    >>> model_of(b'{"metadata": {"name": "a", "resourceVersion": "7"}}', "V1Namespace").metadata.resource_version
    '7'
    """
    model = getattr(client, name, None)
    if not isinstance(model, type):
        raise DecodeError(f"a model {name!r}", "the client has none of this name")
    try:
        if hasattr(model, "from_dict"):  # pydantic, from 37 on
            return model.from_dict(json.loads(text))
        return _api_client().deserialize(SimpleNamespace(data=text.decode()), name)
    except Exception as error:  # on odd data the client raises what comes
        raise DecodeError(f"an object as {name}", str(error)) from error


@lru_cache(maxsize=1)
def _api_client() -> Any:  # noqa: ANN401 - see above
    """Make a client that only deserializes: no connection is opened."""
    return client.ApiClient(client.Configuration())
