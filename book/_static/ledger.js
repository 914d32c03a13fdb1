/* The ledger's filters: what is chosen hides rows, and stands in the address, so that a view can be linked. */
(() => {
  "use strict";

  const FIELDS = ["paper", "section", "tier", "kind", "verdict", "source", "networks"];

  /* What an address asks for: a list of values for each field, empty where all are meant. */
  function asked(query) {
    const found = new URLSearchParams(query);
    return Object.fromEntries(FIELDS.map((field) => [field, found.getAll(field).filter(Boolean)]));
  }

  /* The address of what is asked for. */
  function address(state) {
    const query = new URLSearchParams();
    FIELDS.forEach((field) => state[field].forEach((value) => query.append(field, value)));
    return query.toString();
  }

  /* Whether a row, as an object of fields, is among those asked for. */
  function keeps(row, state) {
    return FIELDS.every((field) => !state[field].length || state[field].includes(row[field]));
  }

  function fields(row) {
    const { paper, tier } = row.parentElement.dataset;
    const { section, kind, verdict, source, networks } = row.dataset;
    return { paper, tier, kind, verdict, source, networks, section: `${paper} ${section}` };
  }

  function read(form) {
    const chosen = new FormData(form);
    return asked(new URLSearchParams([...chosen].filter(([, value]) => value)).toString());
  }

  function write(form, state) {
    FIELDS.forEach((field) => form.querySelectorAll(`[name="${field}"]`).forEach((control) => {
      if (control.type === "checkbox") control.checked = state[field].includes(control.value);
      else control.value = state[field][0] || "";
    }));
  }

  function show(form, rows, state) {
    let count = 0;
    rows.forEach((row) => {
      row.hidden = !keeps(fields(row), state);
      count += row.hidden ? 0 : 1;
    });
    document.querySelectorAll(".icl-ledger tbody").forEach((part) => {
      part.hidden = !part.querySelector("tr[id]:not([hidden])");
    });
    document.querySelectorAll(".icl-ledger").forEach((table) => {
      table.closest("section").hidden = !table.querySelector("tbody:not([hidden])");
    });
    form.querySelector("output").value = `${count} of ${rows.length} claims`;
  }

  function start(form) {
    const rows = [...document.querySelectorAll(".icl-ledger tr[id]")];
    const change = () => {
      const state = read(form);
      const query = address(state);
      show(form, rows, state);
      history.replaceState(null, "", `${location.pathname}${query && "?"}${query}`);
    };
    write(form, asked(location.search));
    show(form, rows, read(form));
    form.hidden = false;
    form.addEventListener("change", change);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(change));
    if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }

  document.querySelectorAll(".icl-filter").forEach(start);
})();
