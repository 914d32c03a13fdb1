/* The landscape's marks as one stop of the Tab key, arrow keys between them, and the words of a mark below the picture. */
(() => {
  "use strict";

  const middle = (box) => (box.left + box.right) / 2;

  /* The mark in the next line up (-1) or down (1) that is nearest to straight above or below. */
  function across(marks, from, way) {
    const here = from.getBoundingClientRect();
    const rest = marks
      .map((mark) => ({ mark, box: mark.getBoundingClientRect() }))
      .filter(({ box }) => way * (box.top - here.top) > here.height / 2);
    const line = Math.min(...rest.map(({ box }) => way * box.top));
    const near = rest.filter(({ box }) => way * box.top - line < here.height / 2);
    near.sort((one, other) => Math.abs(middle(one.box) - middle(here)) - Math.abs(middle(other.box) - middle(here)));
    return near.length ? near[0].mark : null;
  }

  function target(marks, from, key) {
    const place = marks.indexOf(from);
    const row = [...from.parentElement.children];
    switch (key) {
      case "ArrowRight": return marks[place + 1];
      case "ArrowLeft": return marks[place - 1];
      case "ArrowDown": return across(marks, from, 1);
      case "ArrowUp": return across(marks, from, -1);
      case "Home": return row[0];
      case "End": return row[row.length - 1];
      default: return null;
    }
  }

  function rove(map) {
    const marks = [...map.querySelectorAll(".icl-marks a")];
    const told = map.querySelector(".icl-told");
    const stop = (mark) => marks.forEach((each) => { each.tabIndex = each === mark ? 0 : -1; });
    const tell = (event) => {
      const mark = event.target.closest(".icl-marks a");
      if (!mark) return;
      told.textContent = mark.querySelector("title").textContent;
      told.className = `icl-told ${mark.className}`;
      told.hidden = false;
      if (event.type === "focusin") stop(mark);
    };
    stop(marks[0]);
    map.addEventListener("focusin", tell);
    map.addEventListener("pointerover", tell);
    map.addEventListener("pointerleave", () => { told.hidden = true; });
    map.addEventListener("keydown", (event) => {
      const mark = event.target.closest(".icl-marks a");
      if (!mark || event.ctrlKey || event.metaKey || event.altKey) return;
      const next = target(marks, mark, event.key);
      if (next) {
        event.preventDefault();
        next.focus();
      }
    });
  }

  document.querySelectorAll(".icl-landscape").forEach(rove);
})();
