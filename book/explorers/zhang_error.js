"use strict";
// The error of trained linear attention in closed form; zhang_error.py has the same parts.
(() => {
  const { define, number, path } = iclExplorers;
  const GRID = Array.from({ length: 61 }, (_, k) => Number((1000 ** (k / 60)).toFixed(6)));
  const ACROSS = { N: "N, length of the training prompts", M: "M, length of the test prompt" };

  // Eigenvalues in geometric progression from 1 to 1/kappa, scaled to the trace d.
  function spectrum(d, kappa) {
    const raw = Array.from({ length: d }, (_, i) => (d === 1 ? 1 : kappa ** (-i / (d - 1))));
    const sum = raw.reduce((a, b) => a + b);
    return raw.map((each) => (d * each) / sum);
  }

  // gamma_i = (1 + 1/N) lambda_i + tr(Lambda)/N
  const gamma = (lambdas, N) => lambdas.map((each) => (1 + 1 / N) * each + lambdas.reduce((a, b) => a + b) / N);

  // The mean over w ~ N(0, I) of the error at inputs scaled by c, over c^2 tr(Lambda):
  // bias sum q_i (l_i/gamma_i - 1)^2 and variance (1/M) sum q_i (l_i^2 + tr l_i)/gamma_i^2 with l = q = c^2 lambda.
  function terms(N, M, d, kappa, c) {
    const lambdas = spectrum(d, kappa);
    const inverse = gamma(lambdas, N).map((each) => 1 / each);
    const test = lambdas.map((each) => c * c * each);
    const trace = test.reduce((a, b) => a + b);
    const mean = (summand) => test.reduce((sum, each, i) => sum + each * summand(each, inverse[i]), 0) / trace;
    const bias = mean((each, z) => (each * z - 1) ** 2);
    const variance = mean((each, z) => (each + trace) * each * z * z) / M;
    return { error: bias + variance, bias, variance };
  }

  // Minimum-norm least squares on noiseless labels; below d examples only isotropic inputs have a formula.
  const leastSquares = (M, d) => Math.max(0, 1 - M / d);

  function values({ N, M, d, kappa, c }) {
    const found = terms(N, M, d, kappa, c);
    return kappa === 1 || d <= M ? { ...found, least_squares: leastSquares(M, d) } : found;
  }

  function reading({ N, M }, { error, least_squares: least }) {
    const says = `At N = ${number(N)}, M = ${number(M)} linear attention has ${number(error)} times the error of predicting 0`
      + (error > 1 ? ", so it is worse than that." : ".");
    if (least === undefined) return `${says} Below M = d, least squares has a formula for κ = 1 only.`;
    return `${says} Least squares has ${number(least)}.`;
  }

  function parts(state, { planes: { plane } }) {
    const { over } = state;
    const found = values(state);
    const lines = GRID.map((length) => values({ ...state, [over]: length }));
    const curve = (key) => GRID.map((length, k) => [plane.x(length), plane.y(lines[k][key] ?? NaN)]);
    const [bias, total, least] = ["bias", "error", "least_squares"].map(curve);
    const zero = GRID.map((length) => [plane.x(length), plane.y(0)]);
    const [x, y] = [plane.x(state[over]), plane.y(Math.min(found.error, 2))];
    const equal = plane.x(state[over === "N" ? "M" : "N"]);
    const names = ["bias", "variance", "error", "least_squares"];
    const numbers = names.map((name) => [`n-${name}`, { text: name in found ? number(found[name]) : "no formula" }]);
    return {
      bias: { d: `${path([...bias, ...zero.reverse()])}Z` },
      variance: { d: `${path([...total, ...[...bias].reverse()])}Z` },
      error: { d: path(total) },
      least: { d: path(least) },
      now: { d: `M${(x - 5.5).toFixed(1)} ${y.toFixed(1)}a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0 -11 0` },
      equal: { d: `M${equal.toFixed(1)} 225V30` },
      "equal-label": { x: (equal + (equal < 290 ? 4 : -42)).toFixed(1), text: "N = M" },
      across: { text: ACROSS[over] },
      reading: { text: reading(state, found) },
      "n-zero": { text: "1" },
      ...Object.fromEntries(numbers),
    };
  }

  define("zhang-error", { formulas: { spectrum, gamma, terms, leastSquares }, values, parts });
})();
