"use strict";
// The coefficient sum, the rows, the margin and both losses; li_coefficient_sum.py has the same values and parts.
(() => {
  const { define, number, path } = iclExplorers;
  const SUMS = Array.from({ length: 53 }, (_, k) => Number((-1.3 + 0.05 * k).toFixed(2)));
  const ALPHA = 0.8;
  const LENGTH = 20;
  const RARE = 0.01;
  const BANDS = { right: [0.58, 0.92], wrong: [0.06, 0.4] };

  const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);
  const relu = (value) => Math.max(value, 0);
  const sign = (r) => (r % 2 ? -1 : 1);

  function binomial(l, p) {
    const chances = [];
    let ways = 1;
    for (let n = 0; n <= l; n += 1) {
      chances.push(ways * p ** n * (1 - p) ** (l - n));
      ways *= (l - n) / (n + 1);
    }
    return chances;
  }

  // E[n e^g / (n e^g + l - n) | n >= 1] and the mean label that this attention gathers
  function attentionMass(gap, alpha, l) {
    const chance = binomial(l, alpha / 2).slice(1);
    return sum(chance.map((each, k) => (each * (k + 1)) / (k + 1 + (l - k - 1) * Math.exp(-gap)))) / sum(chance);
  }
  const meanLabel = (mass, alpha) => mass - ((1 - mass) * (alpha / 2)) / (1 - alpha / 2);

  // chances and values of the label that the attention gathers
  function labelLaw(gap, alpha, l) {
    return binomial(l, alpha / 2).flatMap((chance, n) => binomial(l - n, 1 / (2 - alpha)).map((against, w) => {
      const weight = n * Math.exp(gap) + l - n;
      return [chance * against, 1 - (2 * w) / weight];
    }));
  }

  // F = sum_r a_r ReLU(S_1 phi_r + label lambda_r)
  const output = (S, { phi, lam }, label) => (
    sum(phi.map((each, r) => sign(r) * relu(S * each + label * lam[r]))) / Math.sqrt(phi.length)
  );
  const margin = (S, rows, label) => (output(S, rows, label) - output(S, rows, -label)) / 2;

  function meanLosses(S, rows, law) {
    let [hinge, error] = [0, 0];
    for (const [chance, label] of law) {
      for (const z of [1, -1]) {
        const zF = z * output(S, rows, z * label);
        hinge += (chance / 2) * relu(1 - zF);
        error += (chance / 2) * (zF < -1e-12 ? 1 : zF <= 1e-12 ? 0.5 : 0);
      }
    }
    return { hinge, error };
  }

  // the inputs of the rows under the label of the sign of a, and under the other
  const inputs = (S, { phi, lam }, label) => Object.fromEntries([["right", 1], ["wrong", -1]].map(([name, side]) => (
    [name, phi.map((each, r) => S * each + side * label * sign(r) * lam[r])]
  )));

  function values({ S, norm, setting }, { stored }) {
    const rows = stored[setting];
    const gap = norm === "fixed" ? rows.gap : S * S * rows.gap;
    const present = 1 - (1 - ALPHA / 2) ** LENGTH;
    const vote = meanLabel(present * attentionMass(gap, ALPHA, LENGTH), ALPHA);
    const given = inputs(S, rows, vote);
    const [right, wrong] = [given.right, given.wrong].map((each) => sum(each.map(relu)) / (2 * Math.sqrt(each.length)));
    return { vote, margin: margin(S, rows, vote), right, wrong, ...meanLosses(S, rows, labelLaw(gap, ALPHA, LENGTH)) };
  }

  const courses = {};
  function course(norm, setting, facts) {
    courses[norm + setting] ??= SUMS.map((S) => values({ S, norm, setting }, facts));
    return courses[norm + setting];
  }

  function kinks(norm, setting, facts) {
    const over = course(norm, setting, facts).map(({ vote }, k) => {
      const { right, wrong } = inputs(SUMS[k], facts.stored[setting], vote);
      return [...right, ...wrong];
    });
    return over.slice(1).flatMap((after, k) => after.flatMap((each, r) => {
      const before = over[k][r];
      return before > 0 === each > 0 ? [] : [SUMS[k] + (0.05 * before) / (before - each)];
    })).sort((one, two) => one - two);
  }

  function measuredAt({ S, norm, setting }, stored) {
    const k = stored[setting].S.indexOf(S);
    return k < 0 ? {} : { hinge: stored[setting].hinge[norm][k][0], error: stored[setting].error[norm][k][0] };
  }

  function howOften(error) {
    if (error >= RARE) return `${Number((100 * error).toPrecision(2))}% of the answers are`;
    if (!error) return "no answer is";
    return `1 answer in ${Number((1 / error).toPrecision(2)).toLocaleString("en-US")} is`;
  }

  function reading(state, found, errors, stored) {
    const told = { ...found, ...measuredAt(state, stored) };
    const [zF, hinge, wrong] = [number(found.margin), number(told.hinge), howOften(told.error)];
    const where = `In setting ${state.setting} at S₁ = ${number(state.S)}`;
    if (state.norm === "rescaled") {
      const rare = SUMS[errors.findLastIndex((error) => error >= RARE) + 1];
      return `A length of some size, yes; a sum of 1, no. ${where} as a factor of the patterns ${wrong} wrong; from `
        + `${number(rare)} on it is fewer than 1 in 100.`;
    }
    if (told.error < RARE) {
      return `No. ${where} and fixed norm zF is ${zF} at the mean vote, the hinge ${hinge}, and ${wrong} wrong.`;
    }
    return `Not a sum of 1. ${where}, far below 0, zF is ${zF} at the mean vote, rows fall silent, and ${wrong} wrong.`;
  }

  const dots = (places) => ({ d: places.map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`).join("") });
  const ring = (x, y) => ({ d: `M${(x - 5.5).toFixed(1)} ${y.toFixed(1)}a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0 -11 0` });

  function parts(state, facts) {
    const { S, norm, setting } = state;
    const { planes: { losses, margin: plane, inputs: place }, stored } = facts;
    const [found, over, data] = [values(state, facts), course(norm, setting, facts), stored[setting]];
    const [seen, given] = [measuredAt(state, stored), inputs(S, data, found.vote)];
    const height = (loss) => losses.y(Math.sqrt(Math.min(loss, 1)));
    const drawn = {};
    for (const name of ["hinge", "error"]) {
      const at = data[name][norm].map((row, k) => [losses.x(data.S[k]), ...row.map(height)]);
      drawn[`${name}-line`] = { d: path(over.map((each, k) => [losses.x(SUMS[k]), height(each[name])])) };
      drawn[`${name}-dots`] = dots(at);
      drawn[`${name}-bars`] = { d: at.map(([x, , low, high]) => `M${x.toFixed(1)} ${low.toFixed(1)}V${high.toFixed(1)}`).join("") };
      drawn[`${name}-now`] = ring(losses.x(S), height(found[name]));
      drawn[`${name}-measured`] = { text: name in seen ? number(seen[name]) : "–" };
    }
    for (const [label, [low, high]] of Object.entries(BANDS)) {
      const at = given[label].map((each, r) => [place.x(each), place.y(low + ((high - low) * ((r * 37) % 100)) / 100)]);
      drawn[`${label}-plus`] = dots(at.filter((_, r) => r % 2 === 0));
      drawn[`${label}-minus`] = dots(at.filter((_, r) => r % 2 === 1));
    }
    for (const name of ["vote", "margin", "hinge", "error"]) drawn[name] = { text: number(found[name]) };
    const x = plane.x(S);
    const measured = norm === "fixed" ? data.margin.map((each, k) => [plane.x(data.S[k]), plane.y(each)]) : [];
    return {
      ...drawn,
      "margin-line": { d: path(over.map((each, k) => [plane.x(SUMS[k]), plane.y(each.margin)])) },
      "margin-dots": dots(measured),
      "margin-now": ring(x, plane.y(found.margin)),
      kinks: { d: kinks(norm, setting, facts).map((each) => `M${plane.x(each).toFixed(1)} ${plane.y(0).toFixed(1)}v-6`).join("") },
      cursor: { d: `M${x.toFixed(1)} 40V178M${x.toFixed(1)} 225V300` },
      reading: { text: reading(state, found, over.map(({ error }) => error), stored) },
      "right-text": { text: `at the right label they add ${number(found.right)}` },
      "wrong-text": { text: `at the wrong label they take ${number(found.wrong)}` },
    };
  }

  define("li-coefficient-sum", {
    formulas: { attentionMass, meanLabel, labelLaw, margin, meanLosses, inputs }, values, parts,
  });
})();
