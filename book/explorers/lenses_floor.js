"use strict";
// The least error with and without an MLP's row, in closed form; lenses_floor.py has the same parts.
(() => {
  const { define, number, path } = iclExplorers;
  const D = 4;
  const CURVES = ["floor", "lower", "upper", "block", "bayes"];
  const TICKS = { mu: [0, 2, 4, 6], N: [1, 4, 20, 100] };
  const ACROSS = { mu: "|μ|, length of the mean of the tasks", N: "N, examples in the context" };
  const GRIDS = {
    mu: Array.from({ length: 49 }, (_, k) => k / 8),
    N: Array.from({ length: 61 }, (_, k) => Number((100 ** (k / 60)).toFixed(6))),
  };

  // R*(U) = sum_i u_i (1 - 1/gamma_i), gamma_i = 1 + 1/N + tr(U)/(N u_i): inputs N(0, I), U the covariance of tasks
  function leastRisk(spread, N) {
    const trace = spread.reduce((a, b) => a + b);
    return spread.reduce((sum, u) => sum + u * (1 - 1 / (1 + 1 / N + trace / (N * u))), 0);
  }
  const floor = (N, H) => 2 / (N * Math.min(H, D) + 2);

  function values({ mu, N, H }) {
    const nothing = D + mu ** 2;
    const ones = Array(D).fill(1);
    const least = floor(N, H);
    const block = leastRisk(ones, N) / nothing;
    const upper = leastRisk([1 + mu ** 2, ...ones.slice(1)], N) / nothing; // the mean as variance
    return { floor: least, lower: Math.max(least, block), upper, block, bayes: Math.max(0, D - N) / nothing };
  }

  function between({ lower, upper }) {
    const [low, high] = [number(lower), number(upper)];
    return low === high ? low : `${low} to ${high}`;
  }

  function reading({ mu, N, H }, found) {
    const heads = H === 1 ? "one head" : `${number(H)} heads`;
    return `At |μ| = ${number(mu)} and N = ${number(N)} the least error of ${heads} without the MLP is ${between(found)}, `
      + `in units of that of no answer, and ${number(found.floor)} or more for any tasks. With the MLP it is `
      + `${number(found.block)}. Bayes has ${number(found.bayes)}.`;
  }

  const dotted = (x, y) => `M${(x - 4).toFixed(1)} ${y.toFixed(1)}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0`;

  function parts(state, { planes }) {
    const { over } = state;
    const [found, { x, y }, grid] = [values(state), planes[over], GRIDS[over]];
    const lines = grid.map((at) => values({ ...state, [over]: at }));
    const curves = Object.fromEntries(CURVES.map((name) => [name, grid.map((at, k) => [x(at), y(lines[k][name])])]));
    const now = x(state[over]);
    return {
      ...Object.fromEntries(CURVES.map((name) => [name, { d: path(curves[name]) }])),
      ...Object.fromEntries(["floor", "block", "bayes"].map((name) => [`n-${name}`, { text: number(found[name]) }])),
      ...Object.fromEntries(TICKS[over].map((value, k) => [`tick-${k}`, { x: x(value).toFixed(1), text: number(value) }])),
      between: { d: `${path([...curves.upper, ...[...curves.lower].reverse()])}Z` },
      now: { d: `M${now.toFixed(1)} 225V30` },
      points: { d: dotted(now, y(found.floor)) + dotted(now, y(found.block)) },
      across: { text: ACROSS[over] },
      "n-between": { text: between(found) },
      "n-nothing": { text: "1" },
      reading: { text: reading(state, found) },
    };
  }

  define("lenses-floor", { formulas: { leastRisk, floor }, values, parts });
})();
