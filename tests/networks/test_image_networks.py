import numpy as np
import pytest
import torch
from torch import nn

from compsparse.errors import ConfigError
from compsparse.networks import ImageNetwork, ReplicaBatchNorm, as_masked, embedded, select
from compsparse.training import CrossEntropy, TrainingConfig, train, training_data

SHAPE = (2, 7, 6)
X = torch.randn(9, 84, generator=torch.Generator().manual_seed(0))


def net(first="convolutional", **settings):
    return ImageNetwork(first, SHAPE, 3, 4, kernel=3, width=5, n_replicas=2, random_state=0, **settings)


def trained(first="convolutional"):
    """With running statistics that are not those of the start."""
    network = net(first)
    data = training_data(X, np.arange(9) % 3, classification=True)
    train(network, data, TrainingConfig(n_steps=20, batch_size=4), loss=CrossEntropy())
    return network


def test_the_convolution_is_that_of_torch():
    network = trained()
    conv = nn.Conv2d(2, 4, 3, stride=2, padding=1)
    norm = nn.BatchNorm1d(1)
    assert norm.eps == 1e-5
    with torch.no_grad():
        for r in range(2):
            conv.weight.copy_(network.weights[0][r].view(4, 2, 3, 3))
            conv.bias.zero_()
            bn = network.norms[0]
            maps = conv(X.view(9, *SHAPE))
            maps = (maps - bn.mean[r].view(1, 4, 1, 1)) / (bn.variance[r].view(1, 4, 1, 1) + 1e-5).sqrt()
            maps = torch.relu(maps * bn.scale[r].view(1, 4, 1, 1) + bn.bias[r].view(1, 4, 1, 1))
            ours = network._first(network.columns(X))[r].T.view(9, -1, 4)
            torch.testing.assert_close(ours, maps.flatten(2).transpose(1, 2), rtol=1e-5, atol=1e-6)


def test_batch_normalisation_is_that_of_torch():
    ours, theirs = ReplicaBatchNorm(2, 3), [nn.BatchNorm1d(3), nn.BatchNorm1d(3)]
    for step in range(4):
        x = torch.randn(2, 3, 11, generator=torch.Generator().manual_seed(step)) * 3 + 1
        out = ours(x)
        for r in range(2):
            torch.testing.assert_close(out[r].T, theirs[r](x[r].T), rtol=1e-4, atol=1e-5)
    ours.eval()
    for r in range(2):
        torch.testing.assert_close(ours.mean[r], theirs[r].running_mean, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(ours.variance[r], theirs[r].running_var, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(ours(x)[r].T, theirs[r].eval()(x[r].T), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("start", "end"), [("convolutional", "local"), ("convolutional", "dense"), ("local", "dense")])
def test_a_narrower_layer_embeds_exactly(start, end):
    network = trained(start)
    wide = embedded(network, end)
    assert wide.first == end
    with torch.no_grad():
        assert float((wide(X) - network(X)).abs().max()) < 1e-5
    mask = wide.local_mask()
    first = wide.effective()[0]
    assert bool((first[:, mask == 0] == 0).all())
    torch.testing.assert_close(first, network.effective()[0])


@pytest.mark.parametrize("first", ["dense", "local", "convolutional"])
@pytest.mark.parametrize("batch_norm", [True, False])
def test_masked_layers_compute_the_same(first, batch_norm):
    network = trained(first) if batch_norm else net(first, batch_norm=False)
    with torch.no_grad():
        for bias in network.biases:
            bias.normal_()
        masked = as_masked(network)
        torch.testing.assert_close(masked(X), network(X), rtol=1e-4, atol=1e-5)
    assert bool((masked.masks()[0] == (1 if first == "dense" else network.local_mask())).all())


def test_the_ladder_goes_down_only():
    with pytest.raises(ConfigError, match="a dense layer is no local one"):
        embedded(net("dense"), "local")
    with pytest.raises(ConfigError, match="first must be one of"):
        net("square")
    with pytest.raises(ConfigError, match=r"the shape of images is \(channels, rows, columns\)"):
        ImageNetwork("dense", (8, 8), 2)
    with pytest.raises(ConfigError, match="too wide for images"):
        ImageNetwork("dense", (1, 3, 3), 2, kernel=9)


def test_kept_weights_come_with_their_statistics_and_replicas_are_independent():
    y = (X[:, 0] > 0).long().numpy()
    config = TrainingConfig(n_steps=40, batch_size=4, evaluate_every=5, patience=2)

    def fit(chosen):
        network = select(net("dense"), chosen)
        n = len(chosen)
        data = training_data(X, y, classification=True, train=[range(6)] * n, validation=[range(6, 9)] * n)
        return train(network, data, config, loss=CrossEntropy(), seeds=[3 + i for i in chosen])

    together, data = fit([0, 1]), training_data(X, y, classification=True)
    with torch.no_grad():
        loss = CrossEntropy().mean(together.network(X[6:]), data.y[6:].expand(2, 3)).numpy()
    np.testing.assert_allclose(loss, together.validation_loss, rtol=1e-5)
    for i in range(2):
        alone = fit([i])
        for a, b in zip(alone.network.state_dict().values(), together.network.state_dict().values(), strict=True):
            torch.testing.assert_close(a[0], b[i], rtol=1e-4, atol=1e-5)
