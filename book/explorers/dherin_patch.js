"use strict";
// The rank-1 patch of one query in the plane; dherin_patch.py has the same parts.
(() => {
  const { arrow, define, number, path } = iclExplorers;
  const W = [[1, 0], [0, 1]];
  const LENGTHS = Array.from({ length: 75 }, (_, k) => 0.02 + (k * 2.98) / 74);

  const dot = (u, v) => u[0] * v[0] + u[1] * v[1];
  const plus = (u, v, times = 1) => [u[0] + times * v[0], u[1] + times * v[1]];
  const apply = (M, v) => M.map((row) => dot(row, v));
  // (W Delta) a^T / |a|^2
  const update = (M, Delta, a) => apply(M, Delta).map((entry) => a.map((each) => (entry * each) / dot(a, a)));
  const updateNorm = (M, Delta, a) => Math.hypot(...apply(M, Delta)) / Math.hypot(...a);
  // <a, a'> / |a|^2: how much of W Delta the patch of a adds at a'
  const share = (a, other) => dot(a, other) / dot(a, a);

  function values({ a, full, other }) {
    const Delta = plus(full, a, -1);
    const [[W11, W12], [W21, W22]] = update(W, Delta, a);
    const norm = updateNorm(W, Delta, a);
    const part = share(a, other);
    const miss = Math.abs(1 - part) * Math.hypot(...apply(W, Delta));
    const found = { W11, W12, W21, W22, norm, share: part, miss };
    return dot(a, a) ? found : Object.fromEntries(Object.keys(found).map((name) => [name, Infinity]));
  }

  function beside(tip, away, { x, y }) {
    return { x: x(tip[0]).toFixed(1), y: (y(tip[1]) + (away[1] > tip[1] ? 22 : -13)).toFixed(1) };
  }

  function reading({ norm, share: part, miss }) {
    if (!Number.isFinite(norm)) return "At A(x) = 0 there is no patch: every matrix sends 0 to 0.";
    return `ΔW has norm ${number(norm)}. For x it is exact. For x′ it adds ${number(part)} times what the context `
      + `adds, and misses by ${number(miss)}.`;
  }

  function parts(state, { planes: { vectors, growth } }) {
    const found = values(state);
    const { a, full, other } = state;
    const size = Math.hypot(...a);
    const Delta = plus(full, a, -1);
    const within = (norm) => Math.min(Math.max(norm, 0.1), 100);
    const drawn = {
      "arrow-a": arrow([0, 0], a, vectors, 7),
      "arrow-full": arrow([0, 0], full, vectors, 7),
      "arrow-other": arrow([0, 0], other, vectors, 7),
      added: arrow(a, full, vectors),
      "name-a": { text: "A(x)", ...beside(a, full, vectors) },
      "name-full": { text: "A(C, x)", ...beside(full, a, vectors) },
      "name-other": { text: "A(x′)", ...beside(other, plus(other, Delta), vectors) },
      reading: { text: reading(found) },
      context: { text: "Δ" },
    };
    if (!size) {
      const all = (names, attributes) => Object.fromEntries(names.map((name) => [name, attributes]));
      const none = all(["row-1", "row-2", "norm", "share", "miss"], { text: "none" });
      return { ...drawn, ...none, ...all(["wanted", "got", "right", "curve", "now"], { d: "" }) };
    }
    const shown = Math.min(Math.max(found.share, -20), 20);
    const direction = a.map((each) => each / size);
    const across = [-direction[1], direction[0]];
    const [x, y] = [growth.x(Math.min(size, 3)), growth.y(within(found.norm))];
    const norms = LENGTHS.map((t) => updateNorm(W, plus(full, direction, -t), direction.map((each) => t * each)));
    return {
      ...drawn,
      "row-1": { text: `(${number(found.W11)}, ${number(found.W12)})` },
      "row-2": { text: `(${number(found.W21)}, ${number(found.W22)})` },
      norm: { text: number(found.norm) },
      share: { text: `${number(found.share)} Δ` },
      miss: { text: number(found.miss) },
      wanted: arrow(other, plus(other, Delta), vectors),
      got: arrow(other, plus(other, Delta, shown), vectors),
      right: { d: path([-9, 9].map((end) => plus(a, across, end)).map(([u, v]) => [vectors.x(u), vectors.y(v)])) },
      curve: { d: path(LENGTHS.map((t, k) => [growth.x(t), growth.y(within(norms[k]))])) },
      now: { d: `M${(x - 5).toFixed(1)} ${y.toFixed(1)}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0` },
    };
  }

  define("dherin-patch", { formulas: { update, updateNorm, share }, values, parts });
})();
