"""Names of kinds, as people type them: ``po``, ``pods``, ``Pod``, ``deployments.apps``."""

from __future__ import annotations

import re
from typing import Final

import attrs


@attrs.frozen(order=True)
class Kind:
    """A kind and its API group; the version does not tell kinds apart.

    >>> Kind.of({"apiVersion": "apps/v1", "kind": "Deployment"})
    Kind(name='Deployment', group='apps')
    """

    name: str
    group: str

    @classmethod
    def of(cls, obj: dict[str, object]) -> Kind:
        """Give the kind of an object that has one."""
        group, slash, _ = str(obj["apiVersion"]).partition("/")
        return cls(str(obj["kind"]), group if slash else "")

    @property
    def resource(self) -> str:
        """The name that kubectl prints before an object's name: ``pod``, ``deployment.apps``."""
        return f"{self.name.lower()}.{self.group}" if self.group else self.name.lower()

    @property
    def plural(self) -> str:
        """Its plural in small letters, with the group behind it: ``pods``, ``deployments.apps``."""
        plural = _plural_of(self.name.lower())
        return f"{plural}.{self.group}" if self.group else plural

    @property
    def is_namespaced(self) -> bool:
        """Whether it is well known that its objects live in namespaces; of unknown kinds only they can tell."""
        return self.name in _SHORT_NAMES and self.name not in _WITHOUT_NAMESPACE

    @property
    def words(self) -> frozenset[str]:
        """What people type for it, in small letters: singular, plural, short names.

        >>> sorted(Kind("Service", "").words), sorted(Kind("Policy", "example.com").words)
        (['service', 'services', 'svc'], ['policies', 'policy'])
        """
        return frozenset({self.name.lower(), _plural_of(self.name.lower()), *_SHORT_NAMES.get(self.name, ())})

    def is_called(self, word: str) -> bool:
        """Tell whether *word* names it; a group may follow after a dot, and a version before that.

        >>> words = ("deploy", "Deployments.apps", "deployments.v1.apps", "deployments.example.com")
        >>> [Kind("Deployment", "apps").is_called(word) for word in words]
        [True, True, True, False]
        """
        name, _, group = word.lower().partition(".")
        return name in self.words and _VERSION.sub("", group) in ("", self.group)


def is_word(text: str) -> bool:
    """Tell whether *text* can name kinds, several joined by commas; what ends as a data file does cannot.

    >>> [is_word(text) for text in ("pods", "po,svc", "deployments.apps", "pods.json", "./pods", "-", "a.yaml.gz")]
    [True, True, True, False, False, False, False]
    """
    return all(_WORD.fullmatch(part) and not _FILE.search(part) for part in text.split(","))


def is_known(word: str) -> bool:
    """Tell whether *word* names a kind that every cluster has, or a widespread one.

    >>> is_known("netpol"), is_known("frobnicators")
    (True, False)
    """
    name = word.lower().partition(".")[0]
    return any(name in Kind(kind, "").words for kind in _SHORT_NAMES)


_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(\.[A-Za-z0-9-]+)*")
_FILE: Final = re.compile(r"\.(json|jsonl|ndjson|ya?ml|gz|txt)$", re.IGNORECASE)
_VERSION: Final = re.compile(r"^v[0-9]+((alpha|beta)[0-9]+)?(\.|$)")
_SHORT_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "ClusterRole": (), "ClusterRoleBinding": (), "ConfigMap": ("cm",), "CronJob": ("cj",),
    "CustomResourceDefinition": ("crd", "crds"), "DaemonSet": ("ds",), "Deployment": ("deploy",),
    "DestinationRule": ("dr",), "EndpointSlice": (), "Endpoints": ("ep",), "Event": ("ev",), "GRPCRoute": (),
    "Gateway": ("gtw",), "HTTPRoute": (), "HorizontalPodAutoscaler": ("hpa",), "Ingress": ("ing",),
    "IngressClass": (), "Job": (), "Lease": (), "LimitRange": ("limits",), "Namespace": ("ns",),
    "NetworkPolicy": ("netpol",), "Node": ("no",), "PersistentVolume": ("pv",), "PersistentVolumeClaim": ("pvc",),
    "Pod": ("po",), "PodDisruptionBudget": ("pdb",), "PriorityClass": ("pc",), "ReplicaSet": ("rs",),
    "ReplicationController": ("rc",), "ResourceQuota": ("quota",), "Role": (), "RoleBinding": (), "Secret": (),
    "Service": ("svc",), "ServiceAccount": ("sa",), "ServiceEntry": ("se",), "StatefulSet": ("sts",),
    "StorageClass": ("sc",), "VirtualService": ("vs",),
}  # fmt: skip

_WITHOUT_NAMESPACE: Final = frozenset(
    {
        "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "IngressClass", "Namespace",
        "Node", "PersistentVolume", "PriorityClass", "StorageClass",
    }
)  # fmt: skip


def _plural_of(singular: str) -> str:
    if singular.endswith("endpoints"):
        return singular
    if singular.endswith(("s", "x", "ch", "sh")):
        return singular + "es"
    if singular.endswith("y") and singular[-2:-1] not in tuple("aeiou"):
        return singular[:-1] + "ies"
    return singular + "s"
