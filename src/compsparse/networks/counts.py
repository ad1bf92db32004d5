"""How large a network is."""

from __future__ import annotations

from dataclasses import dataclass

from compsparse.checks import brief, suggests_options
from compsparse.errors import ConfigError
from compsparse.networks.masked import MaskedNetwork
from compsparse.networks.mirroring import MirrorNetwork
from compsparse.networks.replicas import ReplicatedNetwork


@dataclass(frozen=True)
class NetworkSize:
    """Counts for one replica: free parameters, and multiplications per sample."""

    parameters: int
    multiplies: int


@suggests_options
def count(network: ReplicatedNetwork) -> NetworkSize:
    """Parameters that training can move, and multiplications that one evaluation needs.

    >>> from compsparse.networks import mirror
    >>> from compsparse.graph import balanced_tree
    >>> count(mirror(balanced_tree(4), width=3, depth=1))
    NetworkSize(parameters=39, multiplies=27)
    """
    if isinstance(network, MirrorNetwork):
        multiplies = sum(len(g.nodes) * network.cells(g).multiplies for g in network.plan.groups)
        return NetworkSize(sum(p[0].numel() for p in network.parameters()), multiplies)
    if isinstance(network, MaskedNetwork):
        # replicas with masks of their own may differ: the largest counts
        links = [int(mask.sum((-1, -2)).max()) for mask in network.masks()]
        return NetworkSize(sum(links) + sum(b.shape[1] for b in network.biases), sum(links))
    raise ConfigError(f"network must be a MirrorNetwork or a MaskedNetwork, got {brief(network)}")
