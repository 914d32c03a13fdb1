"use strict";
// Attention between patterns and the rows of the MLP, step by step; li_training_map.py has the same values and parts.
(() => {
  const { define, number, path } = iclExplorers;
  const OPTIONS = { A: "setting A", B: "setting B", half: "half of the patterns" };
  const UNIT = 200;
  const [CELL, CORNER] = [25, [21, 36]];

  // softmax over contexts, one of each pattern; scores by context pattern, then query pattern
  function attention(scores) {
    const size = Math.sqrt(scores.length);
    const columns = Array.from({ length: size }, (_, query) => {
      const weights = Array.from({ length: size }, (__, key) => Math.exp(scores[key * size + query]));
      const all = weights.reduce((total, each) => total + each, 0);
      return weights.map((each) => each / all);
    });
    return scores.map((_, k) => columns[k % size][Math.floor(k / size)]);
  }

  function values({ step, setting }, { stored }) {
    const k = stored.steps.indexOf(step);
    const { scores, on, mass, hinge } = stored[setting];
    const own = attention(scores[k]).filter((_, at) => at % 7 === 0);
    const [right, both, wrong, neither] = on[k];
    return { most: Math.max(...own), least: Math.min(...own), mass: mass[k], hinge: hinge[k], right, both, wrong, neither };
  }

  function squares(share) {
    const found = { "map-own": "", "map-other": "" };
    share.forEach((part, at) => {
      const [key, query] = [Math.floor(at / 6), at % 6];
      const half = ((CELL - 1) / 2) * Math.sqrt(part);
      const [x, y] = [CORNER[0] + (query + 0.5) * CELL - half, CORNER[1] + (key + 0.5) * CELL - half].map((each) => each.toFixed(1));
      const side = (2 * half).toFixed(1);
      found[key === query ? "map-own" : "map-other"] += `M${x} ${y}h${side}v${side}h-${side}z`;
    });
    return { "map-own": { d: found["map-own"] }, "map-other": { d: found["map-other"] } };
  }

  const percent = (share) => `${(100 * share).toFixed(0)}%`;
  const dots = (places) => ({ d: places.map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`).join("") });
  const ring = (x, y) => ({ d: `M${(x - 5).toFixed(1)} ${y.toFixed(1)}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0` });

  function reading({ step, setting }, found) {
    const [least, most] = [percent(found.least), percent(found.most)];
    const parted = setting === "half" ? `${most} of the attention where a task names the pattern and ${least} where none does`
      : `${least} to ${most} of the attention`;
    return `Step ${step}, ${OPTIONS[setting]}: among six contexts, one of each pattern, the one with the query’s pattern gets `
      + `${least === most ? `${most} of the attention` : parted}. ${found.right} of the 100 rows are active at their right label only.`;
  }

  function parts(state, facts) {
    const { planes: { rows, course }, stored } = facts;
    const cell = stored[state.setting];
    const k = stored.steps.indexOf(state.step);
    const found = values(state, facts);
    const places = cell.phi[k].map((each, r) => [rows.x(each / UNIT), rows.y(cell.lam[k][r] / UNIT)]);
    const drawn = squares(attention(cell.scores[k]));
    for (const name of ["mass", "hinge"]) {
      drawn[`${name}-line`] = { d: path(cell[name].map((each, place) => [course.x(place), course.y(each)])) };
      drawn[`${name}-now`] = ring(course.x(k), course.y(found[name]));
    }
    for (const name of ["right", "both", "wrong", "neither"]) drawn[name] = { text: String(found[name]) };
    return {
      ...drawn,
      plus: dots(places.filter((_, r) => r % 2 === 0)),
      minus: dots(places.filter((_, r) => r % 2 === 1)),
      cursor: { d: `M${course.x(k).toFixed(1)} 262V344` },
      mass: { text: percent(found.mass) },
      hinge: { text: number(found.hinge) },
      reading: { text: reading(state, found) },
    };
  }

  define("li-training-map", { formulas: { attention }, values, parts });
})();
