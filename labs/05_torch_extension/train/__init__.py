# SPDX-License-Identifier: MIT
"""One network, four makes of layers: does it train the same, and what does it cost?

make train                        digits, all layers; build/train/train.md
make train PROFILE=1              and which operators a step calls
make train DATA=fashion EPOCHS=2  larger images

data.py      handwritten digits and other small images, as tensors
layers.py    who makes Conv2d and Linear: PyTorch, a student's Function, labs 01, 05
network.py   the network, after LeNet-5
loop.py      same seed, same weights, same order; how far two runs are apart
profiler.py  a step, recorded by torch.profiler
roles.py     its events, sorted by layer and operator
page.py      train.md and its picture
__main__.py  options, the bar, everything that is printed
"""
