"""Section 4.4: what may explain the alignment of patches with finetuning."""

import numpy as np

from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.dherin.s4_4_finetuning.alignment import ALIGNMENT
from papers.dherin.s4_4_finetuning.finetuned import LIKE, Plain, draw_tasks
from papers.dherin.trained import OneBlock


def test_reasons_of_the_alignment_against_whole_matrices():
    """towards_mean is the cosine of S = D G^T with u (G w)^T, answer that with the gradient of the output, signed."""
    tasks, d = 4, 3
    network = OneBlock("softmax attention", d, 6, 2, 10).network()
    plain = Plain.of(network, network.start(stream(0, "weights"), (), LIKE))
    prompts, w = draw_tasks(stream(3, "reasons"), (tasks,), 6, d)
    D = normal(stream(4, "reasons"), (6, tasks, 2, len(plain.u), d), LIKE)
    shift = normal(stream(5, "reasons"), (tasks, 2, len(plain.u)), LIKE)
    found = ALIGNMENT.quick.reasons(plain, prompts, w, shift, D, shift[..., 0])
    W, b, c = plain.weights["W"].numpy(), plain.weights["b"].numpy(), float(plain.weights["b_out"][-1])
    u, G = plain.u.numpy(), plain.G.numpy()
    towards, answer = np.zeros((tasks, 2)), np.zeros((tasks, 2))
    for t in range(tasks):
        a = G @ prompts.x_query[t].numpy()
        hidden = W @ a + b
        output = u @ np.maximum(hidden, 0) + c
        gradient = np.outer(u * (hidden > 0), a) * np.sign(prompts.y_query[t].item() - output)
        for i in range(2):
            S = D[0, t, i].numpy() @ G.T
            mean = np.outer(u, G @ w[t].numpy())
            towards[t, i] = (S * mean).sum() / np.linalg.norm(S) / np.linalg.norm(mean)
            answer[t, i] = (S * gradient).sum() / np.linalg.norm(S) / np.linalg.norm(gradient)
    assert np.allclose(found["towards_mean"], towards.mean(0)) and np.allclose(found["answer"], answer.mean(0))
