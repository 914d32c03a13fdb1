"""Theory that the wings of Zhang et al. and of Garg et al. share.

``least_squares``  the error of least squares by the number of examples
"""
