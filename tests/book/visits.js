/* What the tests ask of a page; the browser has it on every page that it visits. */
window.visit = {
  against: [],

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
      policies: document.querySelectorAll("meta[http-equiv='Content-Security-Policy']").length,
      against: visit.against,
    };
  },

  overflow: () => document.documentElement.scrollWidth - document.documentElement.clientWidth,

  /* What touches a formula, below or above the line of its sentence by half a pixel or more. An empty element behind the
     formula lies on that line, in the same letters; all are put there at once, so that the page is laid out once. */
  tails() {
    const formulas = [...document.querySelectorAll("main span.math:has(> mjx-container)")];
    const texts = (formula) => [...formula.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    const found = formulas.filter((formula) => formula.checkVisibility()).flatMap((formula) =>
      texts(formula).map((text) => ({ formula, text, off: Infinity })));
    const bottom = (text) => {
      const range = document.createRange();
      range.selectNodeContents(text);
      return range.getBoundingClientRect().bottom;
    };
    for (const side of ["afterend", "beforebegin"]) {
      const lines = found.map(({ formula }) => formula.insertAdjacentElement(side, document.createElement("span")));
      found.forEach((one, k) => {
        const high = parseFloat(getComputedStyle(lines[k]).lineHeight); // at the end of a line the empty element may be on the next
        const apart = Math.abs(bottom(one.text) - lines[k].getBoundingClientRect().bottom) % high;
        one.off = Math.min(one.off, apart, high - apart);
      });
      lines.forEach((line) => line.remove());
    }
    const off = found.filter((one) => one.off >= 0.5).map((one) => `${one.text.data.trim()} by ${one.off.toFixed(1)}`);
    return { count: found.length, off };
  },

  /* Columns of code in which not even twelve characters stand beside each other. */
  columns() {
    const narrow = [];
    for (const code of document.querySelectorAll("main td code")) {
      const cell = code.closest("td");
      const style = getComputedStyle(cell);
      const room = cell.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      const letters = room / (0.6 * parseFloat(getComputedStyle(code).fontSize));
      if (code.checkVisibility() && letters < 12 && code.textContent.length > letters) narrow.push(code.textContent);
    }
    return narrow;
  },

  /* What lies beyond the right edge of its card or box, folds too low for a finger, and formulas on a line of their own that
     scroll though the line holds four fifths of them; a shadow on what does not scroll; sliders too short for a finger;
     formulas of the contents that are cut, or in the letters of text. */
  fitting() {
    const faults = [];
    const right = (part) => part.getBoundingClientRect().right;
    const parts = (selector) => [...document.querySelectorAll(`main ${selector}`)].filter((part) => part.checkVisibility());
    for (const box of parts(":is(.icl-card, .icl-minute)")) {
      const beyond = [...box.querySelectorAll("p, dt, dd, summary, pre")].filter((part) => right(part) > right(box) + 1);
      faults.push(...beyond.map((part) => `beyond ${box.id || box.className}: ${part.textContent.trim().slice(0, 40)}`));
    }
    for (const fold of parts("summary")) {
      const { height } = fold.getBoundingClientRect();
      if (height < 24) faults.push(`a fold of ${height.toFixed(1)} px: ${fold.textContent.trim()}`);
    }
    for (const formula of parts("div.math > mjx-container")) {
      const [whole, line] = [formula.scrollWidth, formula.parentElement.clientWidth];
      if (whole > formula.clientWidth + 1 && whole * 0.8 <= line) faults.push(`${whole} px of formula scroll in ${line}`);
    }
    const short = parts("input[type=range]").filter((part) => part.getBoundingClientRect().width < 140);
    faults.push(...short.map((part) => `a slider of ${part.getBoundingClientRect().width} px`));
    const listed = [...document.querySelectorAll(".bd-toc-nav span.math")].filter((part) => part.checkVisibility());
    const lettered = (part) => getComputedStyle(part.querySelector("mjx-c"), "::before").fontFamily.includes("MJX");
    const bad = listed.filter((part) => getComputedStyle(part).overflow !== "visible" || !lettered(part));
    faults.push(...bad.map((part) => `a formula of the contents: ${part.closest("a").textContent.trim().slice(0, 40)}`));
    const still = parts(".icl-scrolls").filter((part) => part.scrollWidth <= part.clientWidth);
    faults.push(...still.map((part) => `a shadow on ${part.textContent.trim().slice(0, 40)}`));
    return faults;
  },

  /* What paper lacks: the title, the colours that part one verdict from another and from links, ink. */
  printed() {
    const title = document.querySelector("main h1");
    const colour = (part) => getComputedStyle(part).color;
    const place = title?.checkVisibility() ? title.getBoundingClientRect() : { height: 0 };
    const faults = place.height > 0 && place.left >= 0 && place.right <= innerWidth ? [] : ["no title"];
    const link = document.querySelector("main a:not([class])");
    for (const kind of [".icl-landscape .icl-legend a", "a.icl-chip", ".verdict"]) {
      const parts = [...document.querySelectorAll(kind)].filter((part) => part.checkVisibility());
      const named = (name) => parts.find((part) => [...part.classList].some((each) => each.endsWith(name)));
      const found = [named("holds"), named("fails"), named("not-reproduced-here") || named("undecided"), link].filter(Boolean);
      if (new Set(found.map(colour)).size < found.length) faults.push(`one colour for ${kind}`);
    }
    const ink = [...document.querySelectorAll("main p, main h1, main a, main td")].filter((part) => part.checkVisibility());
    const pale = ink.filter((part) => Math.max(...colour(part).match(/\d+/g).slice(0, 3)) > 180);
    const whole = [...document.querySelectorAll("main table")].filter((part) => getComputedStyle(part).breakInside === "avoid");
    if (whole.length) faults.push(`${whole.length} tables that a sheet does not part`);
    const wide = (part) => part.getBoundingClientRect().width;
    const beside = [...document.querySelectorAll("main .sd-col")].filter((part) => wide(part) < 0.9 * wide(part.parentElement));
    if (beside.length) faults.push(`${beside.length} columns beside each other`);
    if (pale.length) faults.push(`${pale.length} parts too pale`);
    if ([...document.querySelectorAll("main form")].some((part) => part.checkVisibility())) faults.push("a form");
    return faults;
  },

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

  /* Mark one text of each look: the same letters and colours on the same grounds have the same contrast. What neither colours
     nor moves is no ground. */
  markLooks() {
    const nothing = ["rgba(0, 0, 0, 0)", "none", "1", "none", "static"].join();
    for (const part of document.querySelectorAll("[data-look]")) delete part.dataset.look;
    const grounds = new Map([[null, ""]]);
    const found = new Set();
    const ground = (part) => {
      if (!grounds.has(part)) {
        const style = getComputedStyle(part);
        const own = [style.backgroundColor, style.backgroundImage, style.opacity, style.filter, style.position].join();
        grounds.set(part, ground(part.parentElement) + (own === nothing ? "" : `/${own}`));
      }
      return grounds.get(part);
    };
    for (const part of document.body.querySelectorAll("*:not(mjx-container, mjx-container *)")) {
      const says = [...part.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
      if (!says || !part.checkVisibility()) continue;
      const style = getComputedStyle(part);
      const letters = [style.color, style.fontSize, style.fontWeight, style.textShadow, style.textDecoration, part.tagName];
      const look = `${ground(part)} ${letters}`;
      if (!found.has(look)) part.dataset.look = "";
      found.add(look);
    }
  },

  /* The rules that see colours look at what is marked alone. */
  async axe(runOnly) {
    visit.markLooks();
    axe.configure({ rules: [
      { id: "color-contrast", selector: "[data-look]" },
      { id: "link-in-text-block", selector: ":is(a[href], [role=link])[data-look]" },
    ] });
    const { violations } = await axe.run({ runOnly, preload: false, resultTypes: ["violations"] });
    return violations.map(
      (fault) => `${fault.id} (${fault.nodes.length}) ${fault.nodes[0].target} ${fault.nodes[0].any[0]?.message}`);
  },
};
document.addEventListener("securitypolicyviolation", (found) => {
  visit.against.push(`${found.effectiveDirective}: ${found.blockedURI} ${found.sample}`);
});
