/* What the tests ask of a page; the browser has it on every page that it visits. */
window.visit = {
  /* What follows a change of width or of scheme has followed: a frame, what it set off, and another frame. */
  async settle(width) {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    await window.MathJax?.startup?.promise;
    while (width && innerWidth !== width) await frame();
    await frame();
    await new Promise((done) => setTimeout(done, 50));
    await frame();
    await frame();
  },

  found() {
    const parts = [document, ...[...document.querySelectorAll("template")].map((template) => template.content)];
    const all = (selector) => parts.flatMap((part) => [...part.querySelectorAll(selector)]);
    return {
      links: all("a[href], img[src], link[href], script[src]").map((part) => part.href || part.src),
      ids: [...document.querySelectorAll("[id]")].map((part) => part.id),
      raw: [...document.querySelectorAll("span.math, div.math")].filter((part) => !part.querySelector("mjx-container")).length,
      refused: document.querySelectorAll("mjx-merror, [data-mjx-error]").length,
      pictures: [...document.querySelectorAll("main img")].filter((part) => !part.alt).map((part) => part.src),
      code: document.querySelectorAll("script:not([src]):not([type='application/json']), [onclick]").length,
    };
  },

  overflow: () => document.documentElement.scrollWidth - document.documentElement.clientWidth,

  unfold() {
    for (const fold of document.querySelectorAll("details")) fold.open = true;
  },

  /* Two thirds of a page's elements are pieces of formulas, which are MathJax's own: a box of the same size for each. */
  boxes() {
    const formulas = [...document.querySelectorAll("mjx-container")];
    const sizes = formulas.map((formula) => (formula.firstElementChild || formula).getBoundingClientRect());
    formulas.forEach((formula, place) => {
      const box = document.createElement("span");
      Object.assign(box.style, { display: "inline-block", width: `${sizes[place].width}px`, height: `${sizes[place].height}px` });
      formula.replaceChildren(box);
    });
  },

  /* One text of each look: the same letters and colours on the same grounds have the same contrast. */
  looks() {
    const grounds = new Map([[null, ""]]);
    const found = new Map();
    const ground = (part) => {
      if (!grounds.has(part)) {
        const style = getComputedStyle(part);
        const own = [style.backgroundColor, style.backgroundImage, style.opacity, style.filter, style.position];
        grounds.set(part, `${ground(part.parentElement)}/${own}`);
      }
      return grounds.get(part);
    };
    for (const part of document.body.querySelectorAll("*:not(mjx-container, mjx-container *)")) {
      const says = [...part.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
      if (!says || !part.checkVisibility()) continue;
      const style = getComputedStyle(part);
      const letters = [style.color, style.fontSize, style.fontWeight, style.textShadow, style.textDecoration, part.tagName];
      const look = `${ground(part)} ${letters}`;
      if (!found.has(look)) found.set(look, part);
    }
    return [...found.values()];
  },

  async axe(runOnly, rules, onLooks) {
    const where = { include: onLooks ? visit.looks() : [document], exclude: ["mjx-container"] };
    const { violations } = await axe.run(where, { runOnly, rules, preload: false, resultTypes: ["violations"] });
    return violations.map(
      (fault) => `${fault.id} (${fault.nodes.length}) ${fault.nodes[0].target} ${fault.nodes[0].any[0]?.message}`);
  },
};
