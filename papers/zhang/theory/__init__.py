"""Zhang, Frei, Bartlett, "Trained Transformers Learn Linear Models In-Context" (arXiv 2306.09927v3; its numbering).

``one_step``                section 1: what one plain gradient step can do
``loss``                    section 3.3: the population loss and Assumption 3.3
``optimum``                 Theorem 4.1: Gamma, the limit of gradient flow, its prediction, the loss there
``error``                   Theorem 4.2, Corollary 4.3 and the exact error averaged over tasks
``shifts``                  section 4.2: query and covariate shifts, Garg et al.'s prompts
``random_covariance``       section 4.3: Theorem 4.5 and its error
``quadratic``               section 5.1: the prediction as a quadratic form
``full_loss``               section 5.1: the loss over all live parameters, an exact polynomial
``dynamics``                section 5.2: the reduced loss, its flow and what it conserves
``pl_inequality``           section 5.3: bounds of u_-1, PL constant
``rank_one_trap``           section 5.3: a local minimum of the full loss that is not global
``random_covariance_flow``  appendix C: the flow of section 4.3
``wall``                    around the optimum: local minima of the full loss beyond a wall
``moments``                 appendix D: Gaussian moments and matrix derivatives
"""
