"""Section 4.4: finetuning of W one example at a time, and its alignment with the token patch.

p(a) = <u, relu(W a + b)> + c is the prediction of the ReLU block, with u the last row of W_out and a = A(x), what the
contextual layer makes of (x, 0) without a context. S is the change W_i - W_0 made by finetuning. Where a vector or a change
that is divided by is 0, the answer is NaN.
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.integrate import quad
from scipy.special import gammaln

Matrix = Float[ndarray, "H k"]

# --- finetuning ---------------------------------------------------------------------------------------------------


def prediction(W: Matrix, b: Float[ndarray, "H"], u: Float[ndarray, "H"], c: float, a: Float[ndarray, "k"]) -> float:
    """<u, relu(W a + b)> + c (eq-dherin-4-4-block)."""
    return float(u @ np.maximum(W @ a + b, 0) + c)


def gradient(W: Matrix, b: Float[ndarray, "H"], u: Float[ndarray, "H"], c: float, a: Float[ndarray, "k"], y: float) -> Matrix:
    """2 (p - y) (u * 1[W a + b > 0]) a^T: gradient of (p - y)^2 with respect to W (eq-dherin-4-4-gradient)."""
    return 2 * (prediction(W, b, u, c, a) - y) * np.outer(u * (W @ a + b > 0), a)


def finetuned(
    W: Matrix,
    b: Float[ndarray, "H"],
    u: Float[ndarray, "H"],
    c: float,
    a: Float[ndarray, "N k"],
    y: Float[ndarray, "N"],
    rate: float,
    factor: float,
) -> Float[ndarray, "N+1 H k"]:
    """W_0, ..., W_N with W_i = W_{i-1} - rate * factor * gradient at example i (eq-dherin-4-4-sgd)."""
    path = [W]
    for a_i, y_i in zip(a, y, strict=True):
        path.append(path[-1] - rate * factor * gradient(path[-1], b, u, c, a_i, y_i))
    return np.stack(path)


def rescaled(W: Matrix, b: Float[ndarray, "H"], u: Float[ndarray, "H"], s: float):
    """(s W, s b, u/s), the same function for s > 0 (eq-dherin-4-4-rescaled); raises ValueError otherwise."""
    if not 0 < s < np.inf:
        raise ValueError(f"relu(s z) = s relu(z) needs s > 0, not {s}: take a positive, finite scale")
    return s * W, s * b, u / s


def loss_share(K: Float[ndarray, "d d"], u_squared: float, pace: float, i: float) -> float:
    """(1/d) sum_m exp(-pace |u|^2 lambda_m i): the loss after i examples over the loss before (eq-dherin-4-4-loss).

    pace = rate * factor, lambda_m the eigenvalues of K = G^T G with A(x) = G x. For a pace far below ``limit``, b = 0,
    isotropic w, and gates that stay and let half of |u|^2 through.
    """
    return float(np.exp(-pace * u_squared * np.linalg.eigvalsh(K) * i).mean())


def limit(K: Float[ndarray, "d d"], u_squared: float) -> float:
    """2/(|u|^2 (tr K/d) (d + 2)): about the pace above which the error grows in mean square (eq-dherin-4-4-limit).

    Exact for K = lambda I and gates that stay and let half of |u|^2 through; an uneven K diverges from a lower pace on.
    """
    d = len(K)
    return float(2 / (u_squared * np.trace(K) / d * (d + 2)))


def mean_change(u: Float[ndarray, "H"], G: Float[ndarray, "k d"], w: Float[ndarray, "d"], pace: float, i: float) -> Matrix:
    """pace * i * u (G w)^T: mean of the label part of S to first order in the rate, b = 0 (eq-dherin-4-4-mean)."""
    return pace * i * np.outer(u, G @ w)


def approach(K: Float[ndarray, "d d"], w: Float[ndarray, "d"], i: float) -> float:
    """sqrt((i + 1 + r)/(i + 3 + 2 tr K |w|^2/<w, K w>)), r = |w|^2 |K w|^2/<w, K w>^2 (eq-dherin-4-4-approach).

    It is the root of E<S, mean>^2/(|mean|^2 E|S|^2) for that label part S, half of |u|^2 behind the gates that are open; the
    mean cosine of S with its mean comes to it as i grows.
    """
    r = (w @ w) * (K @ w @ K @ w) / (w @ K @ w) ** 2
    return float(np.sqrt((i + 1 + r) / (i + 3 + 2 * np.trace(K) * (w @ w) / (w @ K @ w))))


# --- alignment ----------------------------------------------------------------------------------------------------


def patch(W: Matrix, a: Float[ndarray, "k"], delta: Float[ndarray, "k"]) -> Matrix:
    """(W delta) a^T/|a|^2 with delta = A(C_i, x) - A(x): the token patch (eq-dherin-2-update)."""
    return np.outer(W @ delta, a) / (a @ a)


def alignment(D: Matrix, S: Matrix) -> float:
    """<D, S>/(|D| |S|) in the Frobenius inner product (eq-dherin-4-4-alignment); raises ValueError when one is 0.

    With a token patch it is the product of ``share`` and ``query_alignment``. Here W delta = (3, 4) and S a = (6, 0):

    >>> import numpy as np
    >>> from papers.dherin.theory.finetuning import alignment, patch, query_alignment, share
    >>> W, S = np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([[3.0, 4.0], [0.0, 0.0]])
    >>> a, delta = np.array([2.0, 0.0]), np.array([1.5, 4.0])
    >>> round(share(S, a), 4), round(query_alignment(W, delta, S, a), 4), round(alignment(patch(W, a, delta), S), 4)
    (0.6, 0.6, 0.36)
    """
    sizes = np.linalg.norm(D) * np.linalg.norm(S)
    if sizes == 0:
        raise ValueError("a change of 0 has no direction: take an update that moves W")
    return float((D * S).sum() / sizes)


def share(S: Matrix, a: Float[ndarray, "k"]) -> float:
    """kappa = |S a|/(|S| |a|): the part of S that the query can see, the ceiling (eq-dherin-4-4-factors)."""
    return float(np.linalg.norm(S @ a) / (np.linalg.norm(S) * np.linalg.norm(a)))


def query_alignment(W: Matrix, delta: Float[ndarray, "k"], S: Matrix, a: Float[ndarray, "k"]) -> float:
    """rho = cosine of W delta and S a: both changes applied to A(x) (eq-dherin-4-4-factors); NaN where one of them is 0."""
    moved = W @ delta
    return float(moved @ (S @ a) / (np.linalg.norm(moved) * np.linalg.norm(S @ a)))


def mean_share(S: Matrix, M: Float[ndarray, "k k"]) -> float:
    """tr(S M S^T)/|S|^2 with M = E[a a^T/|a|^2]: mean of kappa^2 over queries that S does not know (eq-dherin-4-4-ceiling)."""
    return float(np.trace(S @ M @ S.T) / (S**2).sum())


def mean_direction(K: Float[ndarray, "d d"]) -> Float[ndarray, "d d"]:
    """E[x x^T/<x, K x>] for x ~ N(0, I_d); M = G E[..] G^T for a = G x (eq-dherin-4-4-ceiling). K positive definite.

    In K's eigenbasis it is diagonal: E x_m^2 e^(-t <x, K x>) = (1 + 2 t l_m)^-1 prod_j (1 + 2 t l_j)^-1/2, integrated over t,
    here over s = log(t tr K). Raises ValueError where K is not positive definite.
    """
    values, basis = np.linalg.eigh(K)
    if values[0] <= 0:
        raise ValueError(f"K has the eigenvalue {values[0]:.3g}: E x x^T/<x, K x> needs a positive definite K")
    shares = values / values.sum()
    bends = sorted({0.0, *-np.log(shares[[0, -1]])})

    def entry(share: float) -> float:
        def at(s: float) -> float:
            return np.exp(s - np.log1p(2 * np.exp(s) * share) - np.log1p(2 * np.exp(s) * shares).sum() / 2)

        return quad(at, -40, bends[-1] + 90, points=bends, epsabs=0, epsrel=1e-11, limit=200)[0]

    return basis * [entry(share) / values.sum() for share in shares] @ basis.T


def fixed_alignment(
    moved: Float[ndarray, "H"], u: Float[ndarray, "H"], G: Float[ndarray, "k d"], w: Float[ndarray, "d"], a: Float[ndarray, "k"]
) -> float:
    """cos(moved, u) cos(G w, a): alignment of a patch moved a^T/|a|^2 with u (G w)^T (eq-dherin-4-4-fixed)."""
    cosines = [p @ q / (np.linalg.norm(p) * np.linalg.norm(q)) for p, q in ((moved, u), (G @ w, a))]
    return float(cosines[0] * cosines[1])


def mean_cosine(d: int) -> float:
    """E |cos(w, x)| = Gamma(d/2)/(sqrt(pi) Gamma((d+1)/2)) for isotropic w and x (eq-dherin-4-4-exact)."""
    return float(np.exp(gammaln(d / 2) - gammaln((d + 1) / 2)) / np.pi**0.5)


def diluted(label_share, label_alignment):
    """sqrt(label share) * alignment of the label parts: about the alignment of the wholes (eq-dherin-4-4-parts).

    The label share is |o|^2/|e + o|^2, o the part that changes sign with the labels and e the rest.
    """
    return label_share**0.5 * label_alignment


def mirrored(y: Float[ndarray, "N"], x: Float[ndarray, "N d"], x_query: Float[ndarray, "d"], y_query: float):
    """2 y_query <x_j, x>/|x|^2 - y_j: labels of the mirrored task, whose query has the same label (eq-dherin-4-4-mirror)."""
    return 2 * y_query * (x @ x_query) / (x_query @ x_query) - y
