// Light or dark, as chosen here or as the system says; and a page that is being printed, which is light and narrow.
"use strict";
{
  const KEY = "tesselite theme";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;

  // Some browsers keep nothing for pages that are files.
  const kept = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const keep = (name) => { try { localStorage.setItem(KEY, name); } catch { /* lost on reload, then */ } };

  const wanted = () => kept() || (dark.matches ? "dark" : "light");
  const apply = (name) => {
    root.dataset.theme = name;
    Page.tell("theme");
  };

  Page.theme = () => {
    root.dataset.theme = wanted();
    Page.by("theme").addEventListener("click", () => {
      const name = root.dataset.theme === "dark" ? "light" : "dark";
      keep(name);
      apply(name);
    });
    dark.addEventListener("change", () => apply(wanted()));
    // Paper is white, and as wide as the style says for "printing"; canvases and charts are drawn for it.
    addEventListener("beforeprint", () => {
      root.classList.add("printing");
      apply("light");
    });
    addEventListener("afterprint", () => {
      root.classList.remove("printing");
      apply(wanted());
    });
  };
}
