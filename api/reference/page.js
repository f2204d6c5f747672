// Filters the operations as one types, and opens what a link leads to. The page is whole without it.
"use strict";
(() => {
  const open = () => {
    const at = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (at && at.tagName === "DETAILS") {
      at.open = true;
      at.scrollIntoView();
    }
  };
  addEventListener("hashchange", open);
  open();

  const find = document.getElementById("find");
  if (!find) return;
  const entries = [...document.querySelectorAll("[data-find]")].map((e) => [e, e.dataset.find.toLowerCase()]);
  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [e, text] of entries) {
      e.hidden = !words.every((w) => text.includes(w));
      if (!e.hidden) shown++;
    }
    document.getElementById("none").hidden = shown > 0;
  };
  find.addEventListener("input", filter);
  addEventListener("keydown", (e) => {
    if (e.key === "/" && document.activeElement !== find) {
      e.preventDefault();
      find.focus();
    }
  });
  filter();
})();
