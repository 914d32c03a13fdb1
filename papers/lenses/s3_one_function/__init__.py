"""One convex function of the context: what linear attention, softmax attention and a patch read from it."""
