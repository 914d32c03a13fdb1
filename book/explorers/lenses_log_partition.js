"use strict";
// The log-partition function of a context along a ray of keys; lenses_log_partition.py has the same parts.
(() => {
  const { define, number, path } = iclExplorers;
  const GRID = Array.from({ length: 61 }, (_, k) => k / 12);
  const OTHER = { gaussian: "patterns", patterns: "gaussian" };
  const sum = (values) => values.reduce((a, b) => a + b, 0);

  // log (1/N) sum_i exp(t z_i), and the weights of its slope, exp(t z_i) over their sum
  function partition(t, z) {
    const logits = z.map((each) => t * each);
    const top = Math.max(...logits);
    const raised = logits.map((each) => Math.exp(each - top));
    const total = sum(raised);
    return { phi: top + Math.log(total / z.length), weights: raised.map((each) => each / total) };
  }

  function moments(weights, z) {
    const mean = sum(z.map((each, i) => weights[i] * each));
    return [mean, sum(z.map((each, i) => weights[i] * (each - mean) ** 2))];
  }

  function values({ tokens, N, t }, { stored }) {
    const z = stored[tokens][N];
    const { phi, weights } = partition(t, z);
    const [slope, curvature] = moments(weights, z);
    const step = t * moments(partition(0, z).weights, z)[1];
    const largest = Math.max(...z);
    return { phi, slope, curvature, step, most: Math.max(...weights), largest, asymptote: t * largest - Math.log(z.length) };
  }

  function dotted(x, y, r) {
    const [from, to] = [r.toFixed(1), (2 * r).toFixed(1)];
    return `M${(x - r).toFixed(1)} ${y.toFixed(1)}a${from} ${from} 0 1 0 ${to} 0a${from} ${from} 0 1 0 -${to} 0`;
  }

  function reading(t, { slope, step, largest }) {
    const nearer = Math.abs(slope - step) < Math.abs(slope - largest) ? "the step" : "the look-up";
    return `At t = ${number(t)} attention returns ${number(slope)}. The step says ${number(step)}, the look-up `
      + `${number(largest)}: ${nearer} is nearer.`;
  }

  function parts(state, { planes: { height, slope: low }, stored }) {
    const { t } = state;
    const at = (changed) => values({ ...state, ...changed }, { stored });
    const found = at({});
    const other = { tokens: OTHER[state.tokens] };
    const lines = GRID.map((each) => at({ t: each }));
    const others = GRID.map((each) => at({ ...other, t: each }));
    const curve = ({ x, y }, heights) => ({ d: path(heights.map((each, k) => [x(GRID[k]), y(each)])) });
    const z = stored[state.tokens][state.N];
    const { weights } = partition(t, z);
    const tangent = [-0.6, 0.6].map((side) => [height.x(t + side), height.y(found.phi + side * found.slope)]);
    const discs = z.map((each, i) => dotted(low.x(t), low.y(each), Math.max(0.7, 12 * weights[i] ** 0.5)));
    return {
      phi: curve(height, lines.map((line) => line.phi)),
      parabola: curve(height, lines.map((line, k) => (GRID[k] * line.step) / 2)),
      asymptote: curve(height, lines.map((line) => line.asymptote)),
      beside: curve(height, others.map((line) => line.phi)),
      tangent: { d: path(tangent) },
      now: { d: dotted(height.x(t), height.y(found.phi), 4) },
      slope: curve(low, lines.map((line) => line.slope)),
      "slope-beside": curve(low, others.map((line) => line.slope)),
      step: curve(low, lines.map((line) => line.step)),
      largest: curve(low, lines.map((line) => line.largest)),
      tokens: { d: discs.join("") },
      output: { d: dotted(low.x(t), low.y(found.slope), 4) },
      reading: { text: reading(t, found) },
      "n-beside": { text: number(at(other).slope) },
      ...Object.fromEntries(["slope", "step", "largest", "most"].map((name) => [`n-${name}`, { text: number(found[name]) }])),
    };
  }

  define("lenses-log-partition", { formulas: { partition, moments }, values, parts });
})();
