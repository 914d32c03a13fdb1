"use strict";
/* What a page does beside showing: opens what is folded, lets a keyboard reach what scrolls, prints. */

(() => {
  const CALLS = {
    print: () => window.print(),
    fullscreen: () => (document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen()),
  };
  const FORMULAS = "div.math, mjx-container[display], .icl-wide mjx-container, .icl-scrolls";
  const SCROLLERS = `${FORMULAS}, pre, table, .output, .icl-table, .icl-claims, .icl-pictures, .pst-scrollable-table-container`;

  for (const button of document.querySelectorAll("[data-call]")) {
    button.addEventListener("click", CALLS[button.dataset.call]);
  }

  /* A link that leads into something folded opens it. */
  function openTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    let opened = false;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) {
      opened = opened || !fold.open;
      fold.open = true;
    }
    const inside = target.matches(".proof") && target.querySelector(":scope > details");
    if (inside) inside.open = true;
    if (opened) target.scrollIntoView();
  }

  /* In the margin of a wide screen letters are open. */
  const letters = document.querySelector(".icl-letters");
  const wide = matchMedia("screen and (min-width: 100rem)");
  const openLetters = () => { if (letters && wide.matches) letters.open = true; };
  openLetters();
  wide.addEventListener("change", openLetters);

  /* Paper cannot be opened, and a formula on it cannot be scrolled. */
  const ROOM = 42; // what a line on paper holds, in units of its letters, beside a formula's number
  let folded = [];
  let shrunk = [];
  let theme = "light";
  addEventListener("beforeprint", () => {
    theme = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light"; // code and pictures on white
    folded = [...document.querySelectorAll("main details:not([open])")].filter((fold) => !fold.matches(".icl-made, .icl-cite, .icl-chinese"));
    for (const fold of folded) fold.open = true;
    shrunk = [...document.querySelectorAll("main mjx-container[display]")];
    for (const formula of shrunk) {
      formula.style.zoom = "";
      const width = formula.firstElementChild.offsetWidth / parseFloat(getComputedStyle(formula.parentElement).fontSize);
      if (width > ROOM) formula.style.zoom = String(ROOM / width);
    }
  });
  addEventListener("afterprint", () => {
    document.documentElement.dataset.theme = theme;
    for (const formula of shrunk) formula.style.zoom = "";
    for (const fold of folded) fold.open = false;
    markSoon();
  });

  /* A formula on its own line that is a little too wide is set smaller; a wider one has the whole line, its number below. */
  const LEAST = 0.8;
  function fitFormulas() {
    const formulas = [...document.querySelectorAll("main div.math > mjx-container[display]")];
    for (const formula of formulas) {
      formula.style.zoom = "";
      formula.parentElement.classList.remove("icl-long");
    }
    const sizes = formulas.map((formula) => {
      const line = formula.parentElement.clientWidth;
      return [line, formula.clientWidth / formula.firstElementChild.offsetWidth, line / formula.firstElementChild.offsetWidth];
    });
    formulas.forEach((formula, place) => {
      const [line, beside, alone] = sizes[place];
      if (!line || beside >= 1) return;
      const long = beside < LEAST && formula.parentElement.querySelector(".eqno");
      formula.parentElement.classList.toggle("icl-long", Boolean(long));
      const share = long ? alone : beside;
      if (share >= LEAST && share < 1) formula.style.zoom = String(share);
    });
  }

  /* Whatever scrolls can be reached with the keyboard, and shows that it goes on. */
  function markScrollers() {
    fitFormulas();
    for (const formula of document.querySelectorAll("main span.math > mjx-container")) {
      const room = formula.closest("p, li, dd, td, th, figcaption, section")?.clientWidth || Infinity;
      formula.parentElement.classList.toggle("icl-wide", formula.firstElementChild.offsetWidth > room);
    }
    const found = [...document.querySelectorAll(`main :is(${SCROLLERS})`)].map((part) => {
      const wide = part.scrollWidth > part.clientWidth;
      const high = part.scrollHeight > part.clientHeight;
      return [part, (wide || high) && part.clientWidth > 0, wide];
    });
    for (const [part, scrolls, wide] of found) {
      const flow = scrolls ? getComputedStyle(part) : null;
      const reached = scrolls && [flow.overflowX, flow.overflowY].some((way) => way === "auto" || way === "scroll");
      part.classList.toggle("icl-scrolls", Boolean(reached && wide));
      if (reached && part.tabIndex < 0) { // the theme takes its time after a change of width
        part.tabIndex = 0;
        part.dataset.scroller = "";
      } else if (!reached && part.dataset.scroller !== undefined) {
        part.removeAttribute("tabindex");
        delete part.dataset.scroller;
      }
    }
  }

  let due = 0;
  function markSoon() {
    clearTimeout(due);
    due = setTimeout(markScrollers); // a frame would not come to a page in the background
  }

  addEventListener("hashchange", openTarget);
  addEventListener("resize", markSoon);
  const main = document.querySelector("main");
  if (main) new ResizeObserver(markSoon).observe(main);
  addEventListener("load", () => {
    openTarget();
    markSoon();
    window.MathJax?.startup?.promise?.then(markSoon);
  });
  document.addEventListener("toggle", markSoon, true);
  document.addEventListener("input", markSoon);
})();
