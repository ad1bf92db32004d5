"""Classifiers of rows of symbols, all with replicas and all layers on request."""

from compsparse.networks.symbols.base import SymbolNetwork, SymbolNetworkOptions, symbol_codes
from compsparse.networks.symbols.common import CommonCNN
from compsparse.networks.symbols.fully_connected import FullyConnectedNetwork
from compsparse.networks.symbols.hierarchical import HierarchicalCNN, HierarchicalLCN, HierarchicalNetwork
from compsparse.networks.symbols.transformer import TransformerNetwork

__all__ = [
    "CommonCNN",
    "FullyConnectedNetwork",
    "HierarchicalCNN",
    "HierarchicalLCN",
    "HierarchicalNetwork",
    "SymbolNetwork",
    "SymbolNetworkOptions",
    "TransformerNetwork",
    "symbol_codes",
]
