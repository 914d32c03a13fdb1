"""The numbers of the box on depth, by a second route."""

from boxes import Number, by_second_routes

from papers.ahn.theory import wishart


def by_polynomials(d: int, N: int, L: int) -> float:
    """1/(p_0(0)^2 + ... + p_L(0)^2), by the recurrence of the monic polynomials and their norms."""
    alpha, beta = wishart.recurrence(wishart.moments(d, N, 2 * L + 1))
    before, now, norm, total = 0.0, 1.0, 1.0, 1.0
    for k in range(L):
        before, now = now, -alpha[k] * now - (beta[k] * before if k else 0.0)
        norm *= beta[k + 1]
        total += now**2 / norm
    return 1 / total


def depth(data):
    last = data.isel(shape=-1)
    d, N = (int(part[2:]) for part in str(last.shape.item()).split())
    layers = len(data.layers)
    return {
        "d": Number(d, {"the other": N}),
        "N": Number(N, {"the other": d}),
        "one": Number((d + 1) / (d + N + 1), {"d for d + 1": d / (d + N + 1), "two layers": by_polynomials(d, N, 2)}),
        "layers": Number(layers, {"one fewer": layers - 1}),
        "all": Number(by_polynomials(d, N, layers), {"a layer fewer": by_polynomials(d, N, layers - 1)}),
    }


ROUTES = {"ahn-depth": depth}

test_numbers_of_a_box_are_those_of_a_second_route = by_second_routes(ROUTES)
