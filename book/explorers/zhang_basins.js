"use strict";
// The flow of the full loss of Zhang et al. 5.3 with Λ = diag(2, 1) on the slice U₁₁ = diag(b1, b2), u₋₁ = s, u₁₂ = p e₁,
// u₂₁ = r e₁: the reflection e₂ -> -e₂ leaves such points where they are, so flows stay among them. zhang_basins.py has the
// same parts, by the flow in all nine parameters.
(() => {
  const { define, number, path } = iclExplorers;
  const [L1, L2] = [2, 1]; // the eigenvalues of Lambda
  const TAU = L1 + L2;
  const TIME = 80;
  const STILL = 1e-8;

  const gammas = (N) => [L1, L2].map((each) => (1 + 1 / N) * each + TAU / N);
  const moment = (N) => (1 + 2 / N) * (TAU ** 2 + 2 * (L1 ** 2 + L2 ** 2));
  const optimum = (N) => gammas(N).reduce((sum, gamma, i) => sum + ([L1, L2][i] - [L1, L2][i] ** 2 / gamma) / 2, 0);

  // U_11 = s Gamma^-1/|Gamma^-1|, u_12 = sqrt|product| e_1, u_21 = +-u_12
  function start(N, [s, product]) {
    const inverse = gammas(N).map((gamma) => 1 / gamma);
    const root = Math.sqrt(Math.abs(product));
    return [...inverse.map((each) => (s * each) / Math.hypot(...inverse)), s, root, Math.sign(product) * root];
  }

  // The polynomials F and H of the even part, E even^2 = P^2 F + moment s^2 R^2 + 2 s P R H.
  function even(N, B1, B2) {
    const t = B1 + B2;
    const F = (1 + 1 / N) * B1 ** 2 + (B1 ** 2 + B2 ** 2) / N
      + (t ** 2 + 10 * B1 ** 2 + 2 * B2 ** 2 + 4 * t * B1) / N ** 2 + (2 / N) * (t * B1 + 2 * B1 ** 2);
    const F1 = 2 * (1 + 2 / N) * B1 + (6 * t + 24 * B1) / N ** 2 + (2 / N) * (t + 5 * B1);
    const F2 = (2 * B2) / N + (2 * t + 4 * B2 + 4 * B1) / N ** 2 + (2 / N) * B1;
    const [H1, H2] = [TAU + (2 * L1 + 3 * TAU) / N, TAU / N];
    return { F, F1, F2, H: H1 * B1 + H2 * B2, H1, H2 };
  }

  const whitened = ([b1, b2, s, p, r]) => [L1 * b1, L2 * b2, s, Math.sqrt(L1) * p, Math.sqrt(L1) * r];

  function loss(N, at) {
    const [B1, B2, s, P, R] = whitened(at);
    const { F, H } = even(N, B1, B2);
    const [g1, g2] = gammas(N);
    const [a1, a2] = [s * B1 + P * R, s * B2];
    const odd = g1 * a1 ** 2 + g2 * a2 ** 2 - 2 * (L1 * a1 + L2 * a2) + TAU;
    return (odd + P * P * F + moment(N) * s * s * R * R + 2 * s * P * R * H) / 2;
  }

  function velocity(N, at) {
    const [B1, B2, s, P, R] = whitened(at);
    const { F, F1, F2, H, H1, H2 } = even(N, B1, B2);
    const [g1, g2] = gammas(N);
    const [odd1, odd2] = [g1 * (s * B1 + P * R) - L1, g2 * s * B2 - L2];
    const root = Math.sqrt(L1);
    return [
      -L1 * (odd1 * s + (P * P * F1) / 2 + s * P * R * H1),
      -L2 * (odd2 * s + (P * P * F2) / 2 + s * P * R * H2),
      -(odd1 * B1 + odd2 * B2 + moment(N) * s * R * R + P * R * H),
      -root * (odd1 * R + P * F + s * R * H),
      -root * (odd1 * P + moment(N) * s * s * R + s * P * H),
    ];
  }

  // A step in units of 1/(trace of the Hessian), longer when the fast directions have come to rest.
  function safeStep(N, at, time) {
    const [B1, B2, s, P, R] = whitened(at);
    const { F } = even(N, B1, B2);
    const [g1, g2] = gammas(N);
    const [s2, P2, R2] = [s * s, P * P, R * R];
    const trace = L1 ** 2 * (g1 * s2 + P2 * (1 + 8 / N + 15 / N ** 2)) + L2 ** 2 * (g2 * s2 + P2 * (1 / N + 3 / N ** 2))
      + g1 * B1 ** 2 + g2 * B2 ** 2 + moment(N) * R2 + L1 * (g1 * (R2 + P2) + F + moment(N) * s2);
    return Math.min(1.6, 0.3 + 0.5 * time) / (TAU + trace);
  }

  const plus = (at, other, times) => at.map((each, i) => each + times * other[i]);

  // One Runge-Kutta step of fourth order.
  function step(N, at, h) {
    const one = velocity(N, at);
    const two = velocity(N, plus(at, one, h / 2));
    const three = velocity(N, plus(at, two, h / 2));
    const four = velocity(N, plus(at, three, h));
    return at.map((each, i) => each + (h / 6) * (one[i] + 2 * two[i] + 2 * three[i] + four[i]));
  }

  function flow(N, from) {
    const points = [from];
    let [at, time] = [from, 0];
    while (time < TIME && Math.max(...velocity(N, at).map(Math.abs)) > STILL) {
      const h = Math.min(safeStep(N, at, time), TIME - time);
      at = step(N, at, h);
      time += h;
      points.push(at);
    }
    return points;
  }

  function ends(N, points) {
    const last = points[points.length - 1];
    const [before, after] = [points[0], last].map((at) => loss(N, at) / optimum(N));
    return { before, after, u_last: last[2], product: last[3] * last[4] };
  }

  const followed = (state) => flow(Number(state.N), start(Number(state.N), state.start));
  const values = (state) => ends(Number(state.N), followed(state));

  function reading({ after }, trapLoss) {
    if (after < 1.01) return "From here the flow reaches the optimum.";
    if (Math.abs(after / trapLoss - 1) < 0.01) {
      return `From here the flow ends in a local minimum. Its loss is ${number(after)} times the least.`;
    }
    return `At time ${number(TIME)} the flow from here is at neither end. Its loss is then ${number(after)} times the least.`;
  }

  function thinned(points) {
    const kept = [points[0]];
    for (const [x, y] of points) {
      const [x0, y0] = kept[kept.length - 1];
      if (Math.hypot(x - x0, y - y0) > 2.5) kept.push([x, y]);
    }
    return [...kept, points[points.length - 1]];
  }

  function parts(state, { planes: { plane }, stored }) {
    const points = followed(state);
    const found = ends(Number(state.N), points);
    const known = stored[state.N];
    const place = ([x, y]) => [plane.x(x), plane.y(y)];
    const border = known.border.map(place);
    const [[u, v], [uLeast, vLeast]] = [place(known.trap), place(known.optimum)];
    const line = points.map(([, , s, p, r]) => place([s, p * r]));
    const [x, y] = line[line.length - 1];
    const px = (value) => value.toFixed(1);
    const numbers = ["before", "after", "u_last", "product"].map((name) => [name, { text: number(found[name]) }]);
    return {
      basin: { d: `${path([...border, place([0, 1])])}Z` },
      border: { d: path(border) },
      path: { d: path(thinned(line)) },
      end: { cx: px(x), cy: px(y), r: 4 },
      trap: { d: `M${px(u - 5)} ${px(v - 5)}l10 10m-10 0l10 -10` },
      "trap-name": { x: px(u + 10), y: px(v - 16), text: "local minimum" },
      optimum: { d: `M${px(uLeast - 7)} ${px(vLeast)}l7 -7l7 7l-7 7Z` },
      "optimum-name": { x: px(uLeast), y: px(vLeast + 23), text: "optimum" },
      reading: { text: reading(found, known.trap_loss) },
      ...Object.fromEntries(numbers),
    };
  }

  define("zhang-basins", { formulas: { start, loss, velocity, flow, ends }, values, parts });
})();
