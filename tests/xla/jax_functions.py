"""Functions of several kinds, and the texts of HLO that JAX makes of them.

`python tests/xla/jax_functions.py` writes the texts of tests/data/hlo anew; needs JAX.
"""

from pathlib import Path

DATA = Path(__file__).parents[1] / "data" / "hlo"


def functions(jax):
    """Functions and their arguments by name."""
    jnp, lax = jax.numpy, jax.lax

    def ones(*shape):
        return jnp.ones(shape, jnp.float32)

    def loss(x, w, b):
        return jax.nn.relu(x @ w + b).sum()

    def counted(x, n):
        return lax.fori_loop(0, n, lambda i, v: v * 1.5 + i, x)

    def branches(p, x):
        return lax.cond(p, lambda v: v.T @ v, lambda v: v @ v.T, x)

    def convolution(x, k):
        names = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=names)

    def types(x):
        table = jnp.asarray([[1.5, jnp.nan, -jnp.inf], [0.0, 1e-30, 2.0]], jnp.float32)
        return x.astype(jnp.bfloat16), x.astype(jnp.int8), jnp.fft.fft(x), x + table

    return {
        "branches": (branches, (jnp.asarray(True), ones(6, 6))),
        "convolution": (convolution, (ones(1, 8, 8, 3), ones(3, 3, 3, 4))),
        "elementwise": (lambda x, y: jnp.sin(x) * y + 1.0, (ones(4, 5), ones(4, 5))),
        "gradient": (jax.grad(loss), (ones(4, 3), ones(3, 2), ones(2))),
        "loop": (counted, (ones(3, 3), jnp.int32(4))),
        "matmul": (lambda a, b: (a @ b).T, (ones(8, 16), ones(16, 12))),
        "reductions": (lambda x: (x.sum(0), x.max(), jnp.argmax(x, 1)), (ones(7, 9),)),
        "scan": (lambda x: lax.scan(lambda c, v: (c + v, c * v), ones(4), x), (ones(5, 4),)),
        "solve": (lambda a: jnp.linalg.cholesky(a), (ones(3, 3),)),
        "sorting": (lambda x, i: (jnp.sort(x), x[i], x.at[i].add(1.0)), (ones(9), jnp.arange(3))),
        "transposed": (lambda x: jnp.transpose(x, (2, 0, 1)) * 2.0, (ones(2, 3, 4),)),
        "types": (types, (ones(2, 3),)),
    }


def texts(jax, function, arguments):
    """The text before XLA's optimizations, and that of the compiled program."""
    lowered = jax.jit(function).lower(*arguments)
    return lowered.compiler_ir("hlo").as_hlo_text(), lowered.compile().as_text()


def main():
    import jax

    for name, (function, arguments) in functions(jax).items():
        before, compiled = texts(jax, function, arguments)
        for suffix, text in (("before", before), ("compiled", compiled)):
            text = text.replace(__file__, "jax_functions.py")
            (DATA / f"{name}.{suffix}.hlo").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
