"use strict";
/* Finds sections, claims and theorems by their words, and shows each with the sentence in which they stand. */

(() => {
  const SHOWN = 40;
  const FEW = 3; // so few places with all words are followed by those with some
  const AROUND = 34; // words of an excerpt
  const GREEK = {
    α: "alpha", β: "beta", γ: "gamma", δ: "delta", ε: "epsilon", ζ: "zeta", η: "eta", θ: "theta", κ: "kappa", λ: "lambda",
    μ: "mu", ν: "nu", ξ: "xi", π: "pi", ρ: "rho", σ: "sigma", τ: "tau", φ: "phi", χ: "chi", ψ: "psi", ω: "omega",
  };
  const SILENT = new Set(
    "a an and are as at be by can do does for from has have how in into is it its of on or that the this to what when which why with".split(" "),
  );
  const WORD = /\p{Script=Han}|(?:(?!\p{Script=Han})[\p{L}\p{N}])+/gu;
  const PIECE = /\\\(.*?\\\)[^\s\p{L}\p{N}]*|\\\[.*?\\\]|\p{Script=Han}|(?:(?!\p{Script=Han}|\\[([])\S)+/gsu;
  const place = document.getElementById("search-results");
  const asked = new URLSearchParams(location.search).get("q") || "";
  const inputs = document.querySelectorAll("form.bd-search input");
  if (!place) return;

  const words = (text) => text.match(WORD) || [];
  const term = (word) => {
    const plain = word.toLowerCase().replace(/\p{Script=Greek}/gu, (letter) => GREEK[letter] || letter);
    if (SILENT.has(plain)) return null;
    return plain.length > 4 ? plain.replace(/(?<=[^s])s$/, "") : plain;
  };
  const sections = new Map();
  for (const [path, page, own] of PAGES) {
    for (const [place, heading, text] of own) {
      const at = `${path}#${place}`;
      sections.set(at, { at, page, heading, text });
    }
  }
  const WEIGHTS = { "book/answers.html": 1.5, "book/errata.html": 0.5, "book/api/": 0.5 };
  const weight = (at) => WEIGHTS[Object.keys(WEIGHTS).find((start) => at.startsWith(start))] ?? 1;
  let index = null;
  function find(question) {
    index ??= indexed();
    const settings = { prefix: (word) => word.length > 2, boost: { heading: 4, page: 2 }, boostDocument: (at) => weight(at) };
    const all = index.search(question, { ...settings, combineWith: "AND" });
    if (all.length > FEW) return [all, "all of these words"];
    const found = new Set(all.map((one) => one.id));
    const some = index.search(question, { ...settings, fuzzy: 0.2 }).filter((one) => !found.has(one.id));
    return [[...all, ...some], "some of these words, or words like them"];
  }

  function indexed() {
    const made = new MiniSearch({ idField: "at", fields: ["heading", "page", "text"], tokenize: words, processTerm: term });
    made.addAll([...sections.values()]);
    return made;
  }

  const element = (tag, name, ...inside) => {
    const made = document.createElement(tag);
    if (name) made.className = name;
    made.append(...inside);
    return made;
  };

  /* The words around those that were found, as many different ones as there are together. */
  function excerpt(text, found) {
    const pieces = text.match(PIECE) || [];
    const hits = pieces.map((piece) => words(piece).map(term).filter((word) => found.has(word)));
    let [start, most] = [0, 0];
    for (let from = 0; from < pieces.length; from += 1) {
      const here = new Set(hits.slice(from, from + AROUND - 6).flat()).size + (hits[from].length ? 0.5 : 0);
      if (here > most) [start, most] = [Math.max(0, from - 6), here];
    }
    const shown = element("p", "icl-excerpt", start ? "… " : "");
    pieces.slice(start, start + AROUND).forEach((piece, k) => {
      shown.append(drawn(piece, hits[start + k].length > 0), /[\p{Script=Han}，。、；：？！（）]$/u.test(piece) ? "" : " ");
    });
    if (start + AROUND < pieces.length) shown.append("…");
    return shown;
  }

  function drawn(piece, hit) {
    if (piece.startsWith("\\[")) return "…";
    if (piece.startsWith("\\(")) return element("span", "math", piece);
    return hit ? element("mark", "", piece) : piece;
  }

  const typed = (text) => text.split(/(\\\(.*?\\\))/s).map((piece) => drawn(piece, false));

  function row(result) {
    const section = sections.get(result.id);
    const link = element("a", "", ...typed(section.heading || section.page));
    link.href = section.at;
    const found = element("li", "", link, " ", element("span", "icl-where", section.page));
    found.append(excerpt(section.text, new Set(result.terms)));
    return found;
  }

  const told = element("p", "icl-told");
  const list = element("ol", "icl-found-places");
  told.setAttribute("role", "status");
  place.append(told, list);

  function show(question) {
    window.MathJax?.typesetClear?.([list]);
    const [results, which] = words(question).length ? find(question) : [[], ""];
    const first = results.length > SHOWN ? ` The first ${SHOWN}:` : "";
    told.textContent = `${results.length || "No"} ${results.length === 1 ? "place has" : "places have"} ${which}.${first}`;
    told.hidden = !words(question).length;
    list.replaceChildren(...results.slice(0, SHOWN).map(row));
    window.MathJax?.typesetPromise?.([list]);
  }

  let waiting = 0;
  for (const input of inputs) {
    input.value = asked;
    input.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(show, 150, input.value);
    });
  }
  show(asked);
})();
