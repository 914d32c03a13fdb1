"use strict";
// What all explorers share. A page holds each with its picture; this reads the controls, asks the explorer's `parts`
// what every part of the picture is now, and writes it there. The view's address is #explore-NAME?control=value&...
const iclExplorers = (() => {
  const named = {};
  const SETTLED = 500; // milliseconds without a change until a view is announced and put into the address

  function axis({ low, high, start, end, log }) {
    const on = log ? Math.log10 : (value) => value;
    const off = log ? (value) => 10 ** value : (value) => value;
    const place = (value) => start + ((on(value) - on(low)) / (on(high) - on(low))) * (end - start);
    place.value = (at) => {
      const value = off(on(low) + ((at - start) / (end - start)) * (on(high) - on(low)));
      return Math.min(high, Math.max(low, value));
    };
    return place;
  }

  function path(points) {
    let steps = "";
    let broken = true;
    for (const [x, y] of points) {
      const finite = Number.isFinite(x) && Number.isFinite(y);
      if (finite) steps += `${broken ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
      broken = !finite;
    }
    return steps;
  }

  // A line with a head, `before` the end, as the attribute of a path; a short one has no head.
  function arrow(start, end, { x, y }, before = 0) {
    const [x0, y0, xe, ye] = [x(start[0]), y(start[1]), x(end[0]), y(end[1])];
    const length = Math.hypot(xe - x0, ye - y0);
    if (length < 9 + before) return { d: path([[x0, y0], [xe, ye]]) };
    const [u, v] = [(xe - x0) / length, (ye - y0) / length];
    const [x1, y1] = [xe - before * u, ye - before * v];
    const line = path([[x0, y0], [x1, y1]]);
    const [one, two] = [1, -1].map((side) => [x1 - 8 * u + side * 4 * v, y1 - 8 * v - side * 4 * u]);
    return { d: line + path([one, [x1, y1], two]) };
  }

  function number(value) {
    const sign = value < 0 ? "−" : "";
    const size = Math.abs(value);
    if (!Number.isFinite(value)) return `${sign}∞`;
    if (size < 1e-12) return "0"; // but for rounding
    if (size >= 1e-3 && size < 1e4) return sign + String(Number(size.toPrecision(3)));
    const [digits, exponent] = size.toExponential(1).split("e");
    const raised = String(Number(exponent)).replace("-", "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);
    return `${sign}${digits}·10${raised}`;
  }

  // --- controls: each reads its value, writes one, and makes one of the text in an address (undefined if it cannot) ---

  function slider(figure, { name, stops }, planes, changed) {
    const input = figure.querySelector(`input[data-control="${name}"]`);
    const output = input.parentElement.querySelector("output");
    const show = () => {
      output.textContent = number(stops[input.value]);
      input.setAttribute("aria-valuetext", output.textContent);
    };
    const nearest = (value) => stops.reduce((best, stop, k) => (Math.abs(stop - value) < Math.abs(stops[best] - value) ? k : best), 0);
    input.addEventListener("input", () => { show(); changed(); });
    return {
      read: () => stops[input.value],
      write: (value) => { input.value = nearest(value); show(); },
      parse: (text) => (text !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined),
    };
  }

  function choice(figure, { name }, planes, changed) {
    const inputs = [...figure.querySelectorAll(`input[data-control="${name}"]`)];
    inputs.forEach((input) => input.addEventListener("change", changed));
    return {
      read: () => inputs.find((input) => input.checked).value,
      write: (value) => { inputs.find((input) => input.value === value).checked = true; },
      parse: (text) => (inputs.some((input) => input.value === text) ? text : undefined),
    };
  }

  function point(figure, { name, label, plane, start, step }, planes, changed) {
    const handle = figure.querySelector(`[data-handle="${name}"]`);
    const { x, y } = planes[plane];
    let at = start;
    const write = (value) => {
      at = [x.value(x(value[0])), y.value(y(value[1]))].map((each) => Number(each.toFixed(3)));
      handle.setAttribute("transform", `translate(${x(at[0]).toFixed(1)} ${y(at[1]).toFixed(1)})`);
      handle.setAttribute("aria-valuenow", at[0]);
      handle.setAttribute("aria-valuetext", `${number(at[0])} to the right, ${number(at[1])} up`);
    };
    const follow = (event) => {
      const { x: across, y: down } = new DOMPoint(event.clientX, event.clientY)
        .matrixTransform(handle.ownerSVGElement.getScreenCTM().inverse());
      write([x.value(across), y.value(down)]);
      changed();
    };
    const keys = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    for (const [key, value] of Object.entries({ role: "slider", tabindex: "0", "aria-label": label })) handle.setAttribute(key, value);
    // A finger on the handle drags it and does not scroll the page; browsers know no touch-action inside of a drawing.
    handle.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
    handle.addEventListener("pointerdown", (event) => { handle.setPointerCapture(event.pointerId); handle.focus(); event.preventDefault(); });
    handle.addEventListener("pointermove", (event) => { if (handle.hasPointerCapture(event.pointerId)) follow(event); });
    handle.addEventListener("keydown", (event) => {
      const move = keys[event.key];
      if (!move || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      write(at.map((value, k) => value + move[k] * step * (event.shiftKey ? 5 : 1)));
      changed();
    });
    return {
      read: () => at,
      write,
      parse: (text) => {
        const pair = text.split(",").map(Number);
        return pair.length === 2 && pair.every(Number.isFinite) ? pair : undefined;
      },
    };
  }

  const kinds = { slider, choice, point };

  // --- one explorer on its page ---

  function mount(figure, { parts }) {
    const { controls, planes: axes, stored } = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
    const planes = Object.fromEntries(Object.entries(axes).map(([name, { x, y }]) => [name, { x: axis(x), y: axis(y) }]));
    const elements = Object.fromEntries([...figure.querySelectorAll("[data-part]")].map((one) => [one.dataset.part, one]));
    const said = figure.querySelector(".said");
    const held = controls.map((control) => [control, kinds[control.kind](figure, control, planes, () => changed())]);
    const state = () => Object.fromEntries(held.map(([{ name }, control]) => [name, control.read()]));
    let waiting;

    function draw() {
      for (const [name, attributes] of Object.entries(parts(state(), { planes, stored }))) {
        for (const [key, value] of Object.entries(attributes)) {
          if (key === "text") elements[name].textContent = value;
          else elements[name].setAttribute(key, value);
        }
      }
    }

    function changed() {
      draw();
      clearTimeout(waiting);
      waiting = setTimeout(settle, SETTLED);
    }

    function settle() {
      said.textContent = elements.reading.textContent;
      history.replaceState(history.state, "", address());
    }

    const address = () => `#${figure.id}?${held.map(([{ name }, control]) => `${name}=${control.read()}`).join("&")}`;

    function set(query) {
      const asked = new URLSearchParams(query);
      for (const [{ name }, control] of held) {
        const value = asked.has(name) ? control.parse(asked.get(name)) : undefined;
        if (value !== undefined) control.write(value);
      }
    }

    function reset() {
      for (const [{ start }, control] of held) control.write(start);
    }

    function arrive() {
      const [id, query] = location.hash.slice(1).split("?");
      if (id !== figure.id || query === undefined) return;
      reset();
      set(query);
      draw();
      figure.scrollIntoView();
      // Formulas above are set when all is loaded, and move it.
      const again = () => globalThis.MathJax?.startup?.promise?.then(() => figure.scrollIntoView());
      if (document.readyState !== "complete") addEventListener("load", again, { once: true });
    }

    async function copy() {
      const link = location.href.split("#")[0] + address();
      try {
        await navigator.clipboard.writeText(link);
        said.textContent = "Link copied.";
      } catch {
        prompt("The link to this view:", link);
      }
    }

    figure.addEventListener("click", ({ target }) => {
      const button = target.closest("button");
      if (!button) return;
      if (button.dataset.action === "link") copy();
      else { if (button.dataset.action === "reset") reset(); else set(button.dataset.set); changed(); }
    });
    reset();
    figure.querySelectorAll("[hidden]").forEach((one) => { one.hidden = false; });
    figure.classList.add("live");
    draw();
    arrive();
    addEventListener("hashchange", arrive);
  }

  // `formulas` are pure functions of numbers; `parts(state, {planes, stored})` is pure, too.
  function define(name, explorer) {
    named[name] = explorer;
    document.querySelectorAll(`figure[data-explorer="${name}"]`).forEach((figure) => mount(figure, explorer));
  }

  return { define, named, axis, arrow, path, number };
})();
