"use strict";
// One change of weights for all queries, its cut to a query, and a pass of descent; lenses_cut.py has the same parts.
(() => {
  const { arrow, define, number, path } = iclExplorers;
  const dot = (u, v) => u[0] * v[0] + u[1] * v[1];

  // The diagonal of Gamma = (1 + 1/N) Lambda + tr(Lambda)/N I
  const gamma = (spectrum, N) => spectrum.map((each) => (1 + 1 / N) * each + spectrum.reduce((a, b) => a + b) / N);
  // Gamma^-1 (1/M) sum y_i x_i: the step from 0 with all examples at once
  const step = (Gamma, x, y) => Gamma.map((each, k) => x.reduce((sum, row, i) => sum + y[i] * row[k], 0) / y.length / each);
  // D - Gamma^-1 (<D, x_i> - y_i) x_i / M, example by example
  const descents = (Gamma, x, y) => x.reduce((D, row, i) => {
    const miss = dot(D, row) - y[i];
    return D.map((each, k) => each - (miss * row[k]) / y.length / Gamma[k]);
  }, [0, 0]);
  // D q q^T / |q|^2
  const cut = (D, query) => query.map((each) => (dot(D, query) * each) / dot(query, query));

  function values({ query, other, N }, { stored: { x, y, spectrum } }) {
    const Gamma = gamma(spectrum, N);
    const [whole, through, some] = [step(Gamma, x, y), descents(Gamma, x, y), dot(query, query) > 0];
    const part = some ? cut(whole, query) : [Infinity, Infinity];
    return {
      answer: dot(whole, query), whole: dot(whole, other), part: some ? dot(part, other) : Infinity,
      step1: whole[0], step2: whole[1], cut1: part[0], cut2: part[1], pass1: through[0], pass2: through[1],
    };
  }

  function named(text, at, { x, y }) {
    return { text, x: Math.min(Math.max(x(at[0]), 70), 306).toFixed(1), y: (y(at[1]) - 13).toFixed(1) };
  }

  const row = (of) => `(${number(of[0])}, ${number(of[1])})`;

  function reading({ query, other }, { cut1, answer, whole, part }) {
    if (!Number.isFinite(cut1)) return "A query 0 has no direction to cut to, and every change answers it by 0.";
    return `At the query ${row(query)} D∗ and its cut both answer ${number(answer)}. At the other query ${row(other)} `
      + `D∗ answers ${number(whole)}, as the context does, and the cut ${number(part)}.`;
  }

  function parts(state, { planes: { plane }, stored }) {
    const found = values(state, { stored });
    const [whole, part, through] = ["step", "cut", "pass"].map((name) => [found[`${name}1`], found[`${name}2`]]);
    const { query } = state;
    const at = ([x, y]) => [plane.x(x), plane.y(y)];
    const [x, y] = at(whole.map((each) => each / 2));
    const radius = (Math.hypot(...whole) / 2) * (plane.x(1) - plane.x(0));
    const drawn = {
      circle: { cx: x.toFixed(1), cy: y.toFixed(1), r: radius.toFixed(1) },
      step: arrow([0, 0], whole, plane),
      pass: arrow([0, 0], through, plane),
      "name-query": named("query", query, plane),
      "name-other": named("other query", state.other, plane),
      "n-step": { text: row(whole) },
      "n-pass": { text: row(through) },
      answer: { text: number(found.answer) },
      whole: { text: number(found.whole) },
      reading: { text: reading(state, found) },
    };
    if (!Number.isFinite(found.cut1)) {
      const all = (names, attributes) => Object.fromEntries(names.map((name) => [name, attributes]));
      return { ...drawn, ...all(["ray", "right", "cut"], { d: "" }), ...all(["n-cut", "part"], { text: "none" }) };
    }
    const [u, v] = query.map((each) => each / Math.hypot(...query));
    return {
      ...drawn,
      ray: { d: path([-5, 5].map((end) => at([end * u, end * v]))) },
      right: { d: path([-5, 5].map((end) => at([part[0] - end * v, part[1] + end * u]))) },
      cut: arrow([0, 0], part, plane),
      "n-cut": { text: row(part) },
      part: { text: number(found.part) },
    };
  }

  define("lenses-cut", { formulas: { gamma, step, descents, cut }, values, parts });
})();
