"""The answer of the page on static patches."""

from icl_lib.companion import minute_of


@minute_of("dherin-static-one-block")
def minute(one):
    """Says: A patch made for one query saves nothing. According to notes on its fourth version, the paper fits one patch to a
    few calibration queries, by least squares. It then stands for the context whatever the query.

    So: Yes, nearly, in small trained networks and for queries of the same kind. In one block {K} queries are enough: of the
    squared distance to the answers with the context {left} is left, and {most} after {many} queries ({D54}). What is left
    settles at 10 to 25 queries in one block ({D54c}); that it does in several is not reproduced here ({D56c}).
    New: The number of queries is the rank of what the matrix reads. Taking the average of single patches instead of fitting
    leaves {average} ({D55}). The same blocks before training leave {untrained} after {many} queries: much of this needs no
    learning, and training makes what is left far smaller.
    """
    cell = one.sel(part="median").isel(span=-1)
    trained, rank = cell.error.sel(network="trained"), int(cell["rank"].sel(network="trained"))
    fitted = trained.sel(fit="least squares")
    shown = {
        "left": fitted.sel(K=rank),
        "most": fitted.isel(K=-1),
        "average": trained.sel(fit="average").isel(K=-1),
        "untrained": cell.error.sel(network="before training", fit="least squares").isel(K=-1),
    }
    percent = {name: f"{100 * float(value):.2g}%" for name, value in shown.items()}
    return percent | {"K": str(rank), "many": str(int(one.K[-1]))}
