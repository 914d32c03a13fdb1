"use strict";
/* Sets the formulas that are seen before the others, and lets MathJax style them under a policy that allows no style sheets
   in a page: what it would add to the head becomes a constructed sheet. Runs before MathJax. */

(() => {
  const append = document.head.appendChild;
  document.head.appendChild = (node) => {
    if (!(node instanceof HTMLStyleElement)) return append.call(document.head, node);
    if (!node.sheet) {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(node.textContent);
      document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
      Object.defineProperty(node, "sheet", { value: sheet }); // where MathJax inserts the rules of further characters
    }
    return node;
  };

  const FEW = 10;
  const NEXT = 50; // how many are set after those that are seen; then twice as many, and so on: each call costs a layout
  const breath = () => new Promise((go) => {
    const { port1, port2 } = new MessageChannel(); // a timer would slow down in a page in the background
    port1.onmessage = go;
    port2.postMessage(null);
  });
  const FOLDED = "details:not([open]) > :not(summary)"; // a browser may tell the places of what it does not show
  /* Those in the window; where it shows none, the first that come below it. */
  const seenOf = (formulas) => {
    const open = formulas.filter((formula) => !formula.closest(FOLDED));
    const places = open.map((formula) => ({ formula, ...formula.getBoundingClientRect().toJSON() }));
    const ahead = places.filter(({ width, bottom }) => width > 0 && bottom > 0);
    const inside = ahead.filter(({ top }) => top < innerHeight);
    return (inside.length ? inside : ahead.slice(0, FEW)).map(({ formula }) => formula);
  };
  let all = false;
  let moved = false;
  for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"]) {
    addEventListener(kind, () => { moved = true; }, { once: true, passive: true });
  }
  /* What is set above moves the place that the address names; until a reader moves, it is held. */
  const hold = () => { if (!moved) document.querySelector(":target")?.scrollIntoView({ behavior: "instant" }); };

  async function setInTurn() {
    hold();
    const formulas = [...document.querySelectorAll("main .math")];
    const seen = new Set(seenOf(formulas));
    const waiting = formulas.filter((formula) => !seen.has(formula));
    await MathJax.typesetPromise([...seen]);
    hold();
    if (document.body.offsetHeight) await document.fonts.ready; // a layout asks for the letters; the others can wait for these
    for (let count = NEXT; waiting.length && !all; count *= 2) {
      await breath();
      await MathJax.typesetPromise(waiting.splice(0, count));
      hold();
    }
    await MathJax.typesetPromise(); // whatever is elsewhere
    hold();
    all = true;
  }

  window.MathJax = { ...window.MathJax, startup: { pageReady: setInTurn } };
  addEventListener("beforeprint", () => {
    if (all || !window.MathJax.typeset) return;
    MathJax.typeset();
    all = true;
  });
})();
