"""Selectors: what a query asks of labels and of fields.

What each means, down to the odd cases, is what Kubernetes' own libraries do;
``tests/vectors`` holds their answers.
"""

from __future__ import annotations

from kindex.field_selectors import FieldRequirement, FieldSelector, escape, unescape
from kindex.label_requirements import LabelTest, Operator, Requirement
from kindex.label_selectors import LabelSelector
from kindex.label_syntax import validate_label_key, validate_label_value

__all__ = [
    "FieldRequirement",
    "FieldSelector",
    "LabelSelector",
    "LabelTest",
    "Operator",
    "Requirement",
    "escape",
    "unescape",
    "validate_label_key",
    "validate_label_value",
]
