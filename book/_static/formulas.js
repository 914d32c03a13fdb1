"use strict";
/* Lets MathJax style formulas under a policy that allows no style sheets in a page: what it and its menu would add to the
   head becomes a constructed sheet. Runs before MathJax. */

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
})();
