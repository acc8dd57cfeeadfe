"""Uses that fail: each line marked ``# E`` is an error to type checkers, and no other line is."""

import tensorlayout as tl

x = tl.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
i = tl.asarray([1, 0])

# Names that are not there.
tl.unsqueeze(x, 0)  # E
tl.linalg.lstsq(x, x)  # E
tl.fft.dct(x)  # E
tl.xla.nonsense  # E
x.cuda()  # E
x.layout.stride  # E

# Shapes, dtypes, devices, layouts.
tl.zeros(2.5)  # E
tl.zeros((2, 3.5))  # E
tl.zeros(2, 3)  # E
tl.zeros(2, dtype=list)  # E
tl.zeros(2, device=0)  # E
tl.zeros(2, layout=1)  # E
tl.zeros(2, layout=(0.5,))  # E
tl.ones(2, order=0)  # E
tl.full(2, "1")  # E
tl.arange("3")  # E
tl.eye(2.0)  # E
tl.meshgrid(i, indexing="yx")  # E
tl.asarray(1, copy="never")  # E
tl.astype(x)  # E
tl.isdtype(tl.float32, "float")  # E

# Operators.
x + "1"  # E
[1] + x  # E
x - None  # E
x < 1j  # E
i & 1.5  # E
x @ 2  # E

# Keys and values.
x["a"]  # E
x[1.5]  # E
x[1.5:]  # E
x[0] = None  # E

# Elementwise functions: tensors and numbers, by position alone.
tl.add(1, 2)  # E
tl.add(x, "1")  # E
tl.add(x)  # E
tl.add(x1=x, x2=x)  # E
tl.add(x, [1.0, 2.0, 3.0])  # E
tl.sqrt(2.0)  # E
tl.sqrt(x=x)  # E
tl.maximum(x, 1j)  # E
tl.bitwise_or(i, 1.5)  # E
tl.where(x > 1, None, x)  # E
tl.where(x > 1, x, "0")  # E
tl.clip(x, "0")  # E
tl.add(x, 1).nonsense  # E

# Axes, flags, numbers.
tl.sum([1, 2])  # E
tl.sum(x, axis=0.5)  # E
tl.sum(x, keepdims="yes")  # E
tl.sum(x, dtype=8)  # E
tl.argmax(x, axis=(0, 1))  # E
tl.var(x, correction="1")  # E
tl.reshape(x, (2.0, 3))  # E
tl.permute_dims(x, 1.5)  # E
tl.concat(3)  # E
tl.concat([x, None])  # E
tl.roll(x, 1.5)  # E
tl.take(i, None)  # E
tl.searchsorted(i, 1.5, side="middle")  # E
tl.diff(x, prepend={})  # E
tl.pad(x, 1, "mirror")  # E
tl.quantile(x, 0.5, method="best")  # E
tl.fft.fft(x, norm="none")  # E
tl.linalg.qr(x, mode="full")  # E
tl.linalg.svd(x).V  # E
tl.gradient(x).shape  # E
x.sum(axis="0")  # E

# Layouts, memory, devices.
tl.Layout((2, 3), "row")  # E
tl.Layout.row_major(2.0)  # E
tl.to_layout(x, None)  # E
tl.from_storage([1.0, 2.0], "(2):(1)", dtype="float64")  # E
tl.from_storage(bytearray(8), "(1):(1)")  # E
tl.from_dlpack([1.0])  # E
tl.set_default_device(1)  # E
tl.trace(x)  # E
tl.no_copies(1.5)  # E
tl.fuse(x)  # E
x.to_device(None)  # E
x.shape = (3, 2)  # E
tl.xla.layout_of(1)  # E
tl.directml.cast(x, None)  # E
