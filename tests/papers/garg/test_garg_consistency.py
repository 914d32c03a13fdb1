"""What was a claim and is a test: on the stored results, each beside the near miss that has to fail."""


def test_G1e(stored):
    """The excess of the error over that of the Bayes predictor is the squared distance to that predictor: least squares
    without noise, ridge with it.

    The mean of 2 (model - Bayes)(Bayes - label) per dimension is 0 at every k, also beyond N; averaging is not Bayes.

    Its standard error is up to 0.03 in quick; two of them count.
    """
    regression = stored("garg-regression")
    size, two_se = abs(regression.cross), 2 * regression.cross_se
    assert ((size + two_se).sel(reference="Bayes") <= 0.15).all()
    assert ((size - two_se).sel(reference="averaging") > 0.15).any()


def test_G2c(stored):
    """From one example more than there are entries on, the Bayes predictor makes no error.

    Error over that of predicting 0: rounding is 1e-32, times the squared condition of an unlucky pair of examples.

    The Lasso does make errors there.
    """
    sparse = stored("garg-sparse")
    determined = sparse.risk.where(sparse.k > sparse.sparsity, drop=True)
    assert (determined.sel(predictor="Bayes") <= 1e-12).all()
    assert (determined.sel(predictor="Lasso") > 1e-12).any()
