"use strict";
/* Shows in place what a reference refers to: when pointed at, when it has the focus, and at the first tap. */

(() => {
  const box = document.getElementById("icl-preview");
  if (!box || !box.showPopover) return;
  const AFTER = 180; // milliseconds; a pointer that only passes opens nothing
  const GAP = 8;
  let shown = null;
  let waiting = 0;
  let touched = false;

  const referenceAt = (event) => event.target.closest?.("a[data-preview]");

  function place() {
    if (!shown || matchMedia("(max-width: 720px)").matches) {
      box.style.left = box.style.top = "";
      return;
    }
    const link = shown.getClientRects()[0] || shown.getBoundingClientRect();
    const left = Math.min(link.left, innerWidth - box.offsetWidth - GAP);
    const below = link.bottom + GAP;
    const fits = below + box.offsetHeight < innerHeight || link.top < box.offsetHeight + GAP;
    box.style.left = `${Math.max(GAP, left)}px`;
    box.style.top = `${fits ? below : link.top - box.offsetHeight - GAP}px`;
  }

  function show(link) {
    clearTimeout(waiting);
    if (shown === link) return;
    hide();
    shown = link;
    box.replaceChildren(document.getElementById(link.dataset.preview).content.cloneNode(true));
    link.setAttribute("aria-describedby", box.id);
    box.showPopover();
    place();
    window.MathJax?.typesetPromise?.([box]).then(place);
  }

  function hide() {
    clearTimeout(waiting);
    if (!shown) return;
    shown.removeAttribute("aria-describedby");
    shown = null;
    window.MathJax?.typesetClear?.([box]);
    box.hidePopover();
  }

  function later(action, ...given) {
    clearTimeout(waiting);
    waiting = setTimeout(action, AFTER, ...given);
  }

  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const link = referenceAt(event);
    if (link && !box.contains(link)) later(show, link);
    else if (box.contains(event.target)) clearTimeout(waiting);
    else if (shown && document.activeElement !== shown) later(hide);
  });
  document.addEventListener("pointerdown", (event) => {
    touched = event.pointerType === "touch";
    if (touched && shown && !box.contains(event.target) && referenceAt(event) !== shown) hide();
  });
  document.addEventListener("focusin", (event) => {
    const link = referenceAt(event);
    if (link && !box.contains(link) && link.matches(":focus-visible") && !touched) show(link);
    else if (!box.contains(event.target) && !touched) hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  document.addEventListener("click", (event) => {
    const link = referenceAt(event);
    if (!link || box.contains(link)) {
      if (event.target.closest?.("a")) hide();
    } else if (touched && shown !== link) {
      event.preventDefault(); // the second tap follows the link
      show(link);
    } else {
      hide();
    }
    touched = false;
  });
  addEventListener("resize", hide);
})();
